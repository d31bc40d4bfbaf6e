#!/bin/sh
# The Debian kernel and an initial file system with libfc, fcoe and what they need, for __main__.py: image.sh OUT
# Nothing is installed but, when we are root, the tools; the kernel is only unpacked.
set -eu
out=$1
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$PATH:/usr/sbin:/sbin"
[ -s "$out/vmlinuz" ] && [ -s "$out/initrd.gz" ] && exit 0

missing=
for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio depmod:kmod dpkg-deb:dpkg; do
    command -v "${pair%%:*}" > /dev/null || missing="$missing ${pair#*:}"
done
if [ -n "$missing" ]; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "interop: these packages are missing:$missing (apt-get install --no-install-recommends$missing)" >&2
        exit 3
    fi
    apt-get update -q
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi

image=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p' | head -n 1)
version=${image#linux-image-}
mkdir -p "$out"
work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download -q "$image" && dpkg-deb -x ./*.deb kernel)
root=$work/initrd
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/lib/modules" "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh mount insmod ip cat echo ls ln mkdir sleep dmesg sed stty head grep; do ln -sf busybox "$root/bin/$name"; done
depmod -b "$work/kernel" "$version"
# configfs is what a target is made in; not every kernel has tcm_fc
for module in virtio_pci virtio_net 8021q fcoe crc32c_generic configfs tcm_fc; do
    modprobe -d "$work/kernel" -S "$version" --show-depends "$module" 2> /dev/null | awk '$1 == "insmod" { print $2 }'
done | awk '!seen[$0]++' | while read -r path; do
    cp "$path" "$root/lib/modules/"
    basename "$path" >> "$root/lib/modules.order"
done
install -m 755 "$here/init" "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$out/initrd.part"
cp "$work/kernel/boot/vmlinuz-$version" "$out/vmlinuz"
mv "$out/initrd.part" "$out/initrd.gz"
echo "interop: Debian kernel $version"
