#!/bin/bash
# What changed in the captures of cases since a commit, in words: captures_diff.sh BUILD COMMIT CASES (a pattern of ids).
# The commit is built in a work tree of its own, BUILD/was, where the next call finds it again.
set -u
cd "$(dirname "$0")/.." || exit 2
build=$1 commit=$2 cases=$3
was=$build/was
hash=$(git rev-parse --verify --quiet "$commit^{commit}") || { echo "pcaps-diff: git knows no commit $commit; give REV=COMMIT" >&2; exit 2; }
if [ -e "$was/.git" ]; then
    git -C "$was" checkout --quiet --detach "$hash" || exit 3
else
    git worktree prune
    git worktree add --quiet --detach "$was" "$hash" || exit 3
fi
echo "building $commit in $was" >&2
make -C "$was" --silent BUILD=build build/pcaps/.made > "$build/was.log" 2>&1 ||
    { tail -3 "$build/was.log"; echo "pcaps-diff: $commit makes no captures; see $build/was.log" >&2; exit 3; }
seen=0
for path in $(cd "$build/pcaps" && ls {cases,rev1}/$cases.{toml,pcapng} 2> /dev/null; cd - > /dev/null; cd "$was/build/pcaps" && ls {cases,rev1}/$cases.{toml,pcapng} 2> /dev/null); do
    echo "$path"
done | sort -u > "$build/was.names"
while read -r path; do
    seen=$((seen + 1))
    before=$was/build/pcaps/$path
    now=$build/pcaps/$path
    cmp -s "$before" "$now" && continue
    [ -e "$before" ] || { echo "$path: only now"; continue; }
    [ -e "$now" ] || { echo "$path: only before"; continue; }
    case $path in
    *.toml) diff -u --label "$path, $commit" --label "$path, now" "$before" "$now" ;;
    *) diff -u --label "$path, $commit" --label "$path, now" <("$build/fcvi" decode "$before") <("$build/fcvi" decode "$now") ||
        continue; echo "$path: the same frames at other times, or with other comments" ;;
    esac
done < "$build/was.names"
[ "$seen" -gt 0 ] || { echo "pcaps-diff: no case is called $cases; give OF=CASE" >&2; exit 2; }
