# Turn every sql/<dialect>/<name>.sql into one generated C file that defines
#   const char *const mr_sql_<dialect>[MR_QUERY_COUNT]   (indexed by enum mr_query)
# so that a missing file is a build error and the program needs no files at run time.
function(mr_embed_sql dialect)
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sql/${dialect}/*.sql)
    set(out ${CMAKE_BINARY_DIR}/sql_${dialect}.c)
    add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DDIALECT=${dialect} -DROOT=${PROJECT_SOURCE_DIR}
                -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql_run.cmake
        DEPENDS ${files} ${PROJECT_SOURCE_DIR}/include/millrace/sink_queries.def
                ${PROJECT_SOURCE_DIR}/cmake/embed_sql_run.cmake
        COMMENT "embedding sql/${dialect}")
    set(MR_SQL_${dialect} ${out} PARENT_SCOPE)
endfunction()
mr_embed_sql(postgres)
mr_embed_sql(mysql)
mr_embed_sql(sqlite)
