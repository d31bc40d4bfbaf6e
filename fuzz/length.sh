#!/bin/sh
# length.sh NAME: how long an input of the target may be. A connect IU has 652 bytes; more of a frame is Message Data.
case $1 in
*capture) echo 8192 ;;
*monitor) echo 1600 ;;
*port | *pair) echo 600 ;;
*) echo 704 ;;
esac
