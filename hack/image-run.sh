#!/bin/sh
# Starts the service from its image's files, which `make image-root` has unpacked or the folder
# IMAGE_ROOT has, as a container runtime does: user 65532, a read-only root, an empty /tmp, and of
# this machine's folders the current one alone, at its own path. It needs root and Linux.
set -eu
# A container without Git has a $PATH that leads nowhere: its program keeps that one, and this script
# has its own.
IMAGE_PATH=/usr/local/bin:/usr/bin:/bin
[ "$PATH" != /nonexistent ] || IMAGE_PATH=$PATH
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
IMAGE_ROOT=$(cd "${IMAGE_ROOT:-$(dirname "$0")/../dist/image-root}" && pwd)
export IMAGE_ROOT IMAGE_PATH PATH
# shellcheck disable=SC2016 # the inner shell expands
exec unshare --mount --propagation private sh -euc '
	dir=$PWD
	mount --bind "$IMAGE_ROOT" "$IMAGE_ROOT"
	mkdir -p "$IMAGE_ROOT/dev" "$IMAGE_ROOT/proc"
	mount --rbind /dev "$IMAGE_ROOT/dev"
	mount --rbind /proc "$IMAGE_ROOT/proc"
	mount -t tmpfs -o mode=1777 tmpfs "$IMAGE_ROOT/tmp"
	mkdir -p "$IMAGE_ROOT$dir"
	mount --bind "$dir" "$IMAGE_ROOT$dir"
	mount -o remount,bind,ro "$IMAGE_ROOT"
	UNSHARE=$(command -v unshare) && PATH=$IMAGE_PATH exec "$UNSHARE" --map-user=65532 --map-group=65532 --root="$IMAGE_ROOT" --wd="$dir" \
		/usr/local/bin/generator-plugin "$@"
' generator-plugin "$@"
