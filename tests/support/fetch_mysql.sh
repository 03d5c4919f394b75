#!/bin/bash
# A real MySQL for mysql_fixture.sh. Debian 12 does not package one, so Debian's unstable branch is unpacked into a private root, once, outside the
# tree: ${MILLRACE_CACHE:-$HOME/.cache/millrace}/mysql-sid. Nothing of it touches the machine's own packages or services.
#
#   fetch_mysql.sh    prints the root's folder; two to three minutes and 700 MB the first time
#
# Needs root. Exit code 77 and one line that says why: it cannot be had here. Two calls at once do no harm.
set -euo pipefail

cache=${MILLRACE_CACHE:-${HOME:-/tmp}/.cache/millrace}
root=$cache/mysql-sid

cannot() {
    echo "MySQL cannot be had here: $*" >&2
    exit 77
}

is_complete() {
    [[ -x $root/usr/sbin/mysqld && -e $root/complete ]]
}

# What the packages' scripts leave running or mounted would keep the folder from being moved: policy-rc.d starts no service.
build() {
    local into=$1
    debootstrap --variant=minbase sid "$into" >"$work/log" 2>&1 || return 1
    printf '#!/bin/sh\nexit 101\n' >"$into/usr/sbin/policy-rc.d"
    chmod 755 "$into/usr/sbin/policy-rc.d"
    chroot "$into" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        apt-get install -y -qq --no-install-recommends mysql-server >>"$work/log" 2>&1 || return 1
    rm -rf "$into"/var/cache/apt/archives/*.deb "$into"/var/lib/apt/lists/* "$into"/usr/share/{doc,man,locale} "$into"/var/lib/mysql
    chroot "$into" /usr/sbin/mysqld --version >"$into/complete" 2>>"$work/log"
}

if ! is_complete; then
    ((EUID == 0)) || cannot "its private root can only be made as root"
    command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/mysql-part.XXXXXX")
    # --one-file-system: a /proc that is still mounted in there must not be emptied.
    trap 'umount "$work/root/proc" "$work/root/sys" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
    chmod 755 "$work"
    mkdir "$work/root"
    build "$work/root" || { tail -n 20 "$work/log" >&2; cannot "debootstrap of Debian's unstable branch failed"; }
    umount "$work/root/proc" "$work/root/sys" 2>/dev/null || true
    mv -T "$work/root" "$root" 2>/dev/null || is_complete || cannot "$root is in the way"
fi
echo "$root"
