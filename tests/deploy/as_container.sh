# Run a program as a kubelet runs a container whose root filesystem is read-only, in namespaces of this process:
# FILES holds what is mounted (its etc and run), DATA becomes the writable volume /mnt. /etc has nothing else, so the
# user has no name. Then the program runs as UID, without any capability.
#   sh as_container.sh UID FILES DATA PROGRAM [ARGUMENTS]
set -eu
uid=$1 files=$2 data=$3
shift 3
mount --bind "$data" /mnt
mount -t tmpfs none /etc
mount -t tmpfs none /run
cp -R "$files/." /
mount -t tmpfs none /tmp
while read -r _ mounted _; do
  case $mounted in
    /mnt | /proc | /proc/* | /sys | /sys/*) ;;
    *) mount -o remount,bind,ro "$mounted" 2>/dev/null || : ;;
  esac
done </proc/mounts
cd /
exec unshare --user --map-user="$uid" --map-group=0 -- "$@"
