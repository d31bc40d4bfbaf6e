#!/bin/bash
# Installs into a scratch directory, then uses the command, the headers and both libraries from there.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
make --no-print-directory -s install DESTDIR="$scratch" PREFIX=/usr
cat > "$scratch/use.c" <<'C'
#include <fcvi/codec.h>
#include <fcvi/port.h>
#include <fcvi/table.h>
#include <stdio.h>
int main(void)
{
    struct fcvi_port_limits limits = {1, 1, 1, 1, 1, 16, 0, 1};
    return puts(fcvi_version()) < 0 || fcvi_port_size(&limits) == 0;
}
C
cat > "$scratch/vi.c" <<'C'
#include <fcvi/vipl_host.h>
#include <vipl.h>
int main(void)
{
    VIP_NIC_HANDLE nic;
    return VipOpenNic("VINIC", &nic) == VIP_SUCCESS || fcvi_vipl_detach("VINIC") == 0; /* nobody attached one */
}
C
export PKG_CONFIG_PATH="$scratch/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$scratch"
cc -std=c11 "$scratch/use.c" $(pkg-config --cflags --libs fcvi) -o "$scratch/shared"
cc -std=c11 "$scratch/use.c" $(pkg-config --cflags fcvi) "$scratch/usr/lib/libfcvi.a" -lisal -o "$scratch/static"
cc -std=c11 "$scratch/vi.c" $(pkg-config --cflags --libs vipl) -o "$scratch/vi-shared"
cc -std=c11 "$scratch/vi.c" $(pkg-config --cflags vipl) "$scratch/usr/lib/libvipl.a" "$scratch/usr/lib/libfcvi.a" -lisal -lpthread \
  -o "$scratch/vi-static"
for program in shared vi-shared; do LD_LIBRARY_PATH="$scratch/usr/lib" "$scratch/$program"; done
for program in static vi-static; do "$scratch/$program"; done
# the example, as its page says, in two processes
cc -std=c11 "$scratch/usr/share/doc/fcvi/examples/vi_hello.c" $(pkg-config --cflags --libs vipl) -o "$scratch/hello"
hello() { VIPL_DEBUG=1 LD_LIBRARY_PATH="$scratch/usr/lib" timeout 60 "$scratch/hello" "$@"; }
hello vitcp:127.0.0.1:29790 > "$scratch/heard" &
hello vitcp:127.0.0.2:29790 127.0.0.1
wait $!
grep -q 'hello over VI' "$scratch/heard"
cc -std=c11 "$scratch/usr/share/doc/fcvi/examples/vi_hello.c" $(pkg-config --cflags --libs vipl64) -o "$scratch/hello"
hello vitcp:127.0.0.1:29791 > "$scratch/heard" &
hello vitcp:127.0.0.2:29791 127.0.0.1
wait $!
grep -q 'hello over VI' "$scratch/heard"
# every installed header stands alone, in C and in C++, and the functions that it declares link from C++
for header in "$scratch"/usr/include/*.h "$scratch"/usr/include/fcvi/*.h; do
  name=${header#"$scratch/usr/include/"}
  echo "#include <$name>" > "$scratch/alone.c"
  cp "$scratch/alone.c" "$scratch/alone.cc"
  cc -std=c11 -Wall -Werror -fsyntax-only -I"$scratch/usr/include" "$scratch/alone.c"
  c++ -std=c++17 -Wall -Werror -fsyntax-only -I"$scratch/usr/include" "$scratch/alone.cc"
  echo "#include <$name>" >> "$scratch/headers.h"
done
cat "$scratch/headers.h" - > "$scratch/all.cc" << 'CC'
#include <cstdio>
int main()
{
    struct fcvi_port_limits limits = {1, 1, 1, 1, 1, 16, 0, 1};
    VIP_NIC_HANDLE nic;
    char name[] = "VINIC";
    const void *used[] = {(const void *)fcvi_monitor_init, (const void *)fcvi_fabric_size};
    return std::puts(fcvi_version()) < 0 || fcvi_port_size(&limits) == 0 || VipOpenNic(name, &nic) == VIP_SUCCESS ||
           fcvi_vipl_detach(name) == 0 || used[0] == used[1];
}
CC
cflags="-I$scratch/usr/include"
c++ -std=c++17 -Wall -Werror "$scratch/all.cc" $cflags $(pkg-config --libs fcvi vipl) -o "$scratch/cc-shared"
c++ -std=c++17 -Wall -Werror "$scratch/all.cc" $cflags "$scratch/usr/lib/libvipl.a" "$scratch/usr/lib/libfcvi.a" -lisal -lpthread -o "$scratch/cc-static"
LD_LIBRARY_PATH="$scratch/usr/lib" "$scratch/cc-shared"
"$scratch/cc-static"
# a program may call its own functions what it likes, with everything of both libraries linked in
cat > "$scratch/own.c" << 'C'
static int called;
#define OWN(name) \
    int name(void); \
    int name(void) \
    { \
        return ++called; \
    }
OWN(release) OWN(flush) OWN(logout) OWN(wake) OWN(resolve) OWN(validate) OWN(starve)
int main(void)
{
    return !(release() && flush() && logout() && wake() && resolve() && validate() && starve() && called == 7);
}
C
cc -std=c11 -Wall -Werror "$scratch/own.c" -Wl,--whole-archive "$scratch/usr/lib/libvipl.a" "$scratch/usr/lib/libfcvi.a" -Wl,--no-whole-archive \
  -lisal -lpthread -o "$scratch/own"
"$scratch/own"
# nothing is exported that something else in a process may be called
for library in libfcvi.so libvipl.so libvipl64.so; do
  others=$(nm -D --defined-only "$scratch/usr/lib/$library" | awk '$3 !~ /^(fcvi_|Vip)/ { print $3 }')
  [ -z "$others" ] || { echo "$library exports $others"; exit 1; }
done
# every installed object is hardened: tables read-only from the start, no executable stack, checked copies, guarded stacks,
# branch targets (CET) where the processor has them, no place to look for libraries, a soname for what others link
missing=0
flaw() { echo "$1: $2" >&2; missing=1; }
for object in "$scratch"/usr/bin/fcvi*-agent "$scratch"/usr/lib/*.so.*.* "$scratch"/usr/lib/fcvi/build/fcvi-explore "$scratch"/usr/lib/fcvi/build/fcvi-open "$scratch"/usr/lib/fcvi/build/python/*.so; do
  name=${object#"$scratch"}
  dynamic=$(readelf -W -d "$object") segments=$(readelf -W -l "$object") symbols=$(nm -D "$object") header=$(readelf -h "$object")
  grep -q 'Type:.*DYN' <<< "$header" || flaw "$name" "is linked to a fixed address"
  grep -q GNU_RELRO <<< "$segments" || flaw "$name" "has no RELRO"
  grep -Eq 'BIND_NOW|Flags:.* NOW' <<< "$dynamic" || flaw "$name" "has no BIND_NOW: RELRO is partial"
  grep -q 'GNU_STACK.* RW ' <<< "$segments" || flaw "$name" "has an executable stack"
  grep -Eq 'RPATH|RUNPATH' <<< "$dynamic" && flaw "$name" "has an RPATH"
  grep -q __stack_chk_fail <<< "$symbols" || flaw "$name" "has no stack protector"
  case $name in *mutator* | *libfcvi-streams*) ;; *) grep -Eq '__[a-z]+_chk(@|$)' <<< "$symbols" || flaw "$name" "has no checked calls (_FORTIFY_SOURCE)";; esac  # these call nothing that could be
  # the mark of the whole object is the linker's to give, which needs a C library with CET; the code has to have it
  case $name in *fcvi-open) marks=2;; *) marks=20;; esac  # fcvi-open is one small program
  case $(uname -m) in x86_64) [ "$(objdump -d "$object" | grep -c endbr64)" -gt "$marks" ] || flaw "$name" "has no CET";; esac
  case $name in /usr/lib/lib*) grep -q SONAME <<< "$dynamic" || flaw "$name" "has no soname";; esac
done
[ "$missing" -eq 0 ] || exit 1
# each installed file has its package in debian/, where the libraries stand in a folder of the architecture
patterns=$(sed -e 's/ .*//' -e 's|^usr/lib/\*/|usr/lib/|' debian/*.install)
while read -r file; do
  found=
  for pattern in $patterns; do
    # shellcheck disable=SC2053 # a pattern
    if [[ $file == $pattern || $file == $pattern/* ]]; then found=1; break; fi
  done
  [ -n "$found" ] || { echo "$file is in no debian/*.install" >&2; missing=1; }
done < <(cd "$scratch" && find usr -type f -o -type l)
[ "$missing" -eq 0 ] || exit 1
cd "$scratch"
usr/bin/fcvi --version
usr/bin/fcvi run --quiet --select 'D.*' --report r
test -s r/report.html
usr/bin/fcvi judge --quiet r
test -s usr/lib/fcvi/wireshark/fcvi.lua
# the documents that are made from the code
for made in man/man1/fcvi.1 man/man1/fcvi-run.1 bash-completion/completions/fcvi doc/fcvi/api.md doc/fcvi/test-plan.md; do test -s "usr/share/$made"; done
# every link and every command of the installed pages, in a directory of its own
cd - > /dev/null
FCVI_INSTALLED="$scratch" PYTHONPATH=build/python:harness:. /usr/bin/python3 -m pytest -q --no-header harness/tests/commands/test_installed.py
# what is built is not built again
again=$(make --no-print-directory V=1 all | grep -Evc 'Nothing to be done|^Built' || true)
[ "$again" -eq 0 ] || { echo "make rebuilds something although nothing changed"; exit 1; }
make --no-print-directory -s uninstall DESTDIR="$scratch" PREFIX=/usr
left=$(cd "$scratch" && find usr -type f -o -type l)
[ -z "$left" ] || { echo "uninstall leaves $left"; exit 1; }
