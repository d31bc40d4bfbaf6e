#!/bin/bash
# Makes the source tarball twice, compares the bytes, and uses the tree inside without git. A whole build of it takes minutes: it
# happens when FCVI_DIST_BUILD=1 is given. Otherwise the configuration is read and the version is asked for.
set -eu
cd "$(dirname "$0")/.."
tarball=$(readlink -f "$1" 2> /dev/null || echo "$PWD/$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ ! -e .git ]; then
  echo "no clone of the repository: nothing to make a tarball of"
  exit 0
fi
make --no-print-directory -s dist > /dev/null
cp "$tarball" "$scratch/first.tar.gz"
# another time, another user's defaults
(umask 077 && TZ=Pacific/Auckland LC_ALL=C make --no-print-directory -s dist > /dev/null)
cmp "$scratch/first.tar.gz" "$tarball"
tar -C "$scratch" -xzf "$tarball"
tree=$(echo "$scratch"/fcvi-*/)
# everything that git has and nothing else
diff <(git ls-tree -r --name-only -z HEAD | tr '\0' '\n' | sort) <(cd "$tree" && find . -type f -o -type l | sed 's|^\./||' | sort)
# one owner, one time, sorted within each directory as git sorts
tar --numeric-owner -tvzf "$tarball" | awk '{ print $2, $4, $5 }' | sort -u | awk 'END { if (NR != 1) { print "the tarball has " NR " owners or times"; exit 1 } }'
head=$(git rev-parse HEAD)
grep -qx "$head" "$tree/harness/fcvi/commit"
if [ "${FCVI_DIST_BUILD:-}" = 1 ]; then
  make --no-print-directory -s -C "$tree" -j"$(nproc)" install DESTDIR="$scratch/out" PREFIX=/usr > "$scratch/log" 2>&1 || { tail -20 "$scratch/log"; exit 1; }
  said=$("$scratch/out/usr/bin/fcvi" --version)
  built=" and builds without git"
else
  said=$(cd "$tree/harness" && /usr/bin/python3 -I -c 'import sys; sys.path.insert(0, "."); from fcvi.arguments import version; print(version())')
  make --no-print-directory -s -C "$tree" -n all > /dev/null
  built=""
fi
case $said in *"${head:0:12}"*) ;; *) echo "the tree of the tarball says it is $said"; exit 1 ;; esac
echo "two tarballs of $(stat -c %s "$tarball") bytes are the same$built: $said"
