/* The program; everything else is in the libraries, so that tests can link it. */
#include "../cli.h"

int main(int argc, char **argv)
{
    return mr_cli_main(argc, argv);
}
