#!/bin/sh
# runs.sh TARGET: how many executions of it a check of every commit can afford.
case $(basename "$1") in
*pair) echo 8000 ;;
*reassembly) echo 20000 ;;
*descriptor) echo 4000 ;;
*unpack) echo 5000 ;;
*control) echo 3000 ;;
*message | *monitor) echo 20000 ;;
*port) echo 30000 ;;
*) echo 60000 ;;
esac
