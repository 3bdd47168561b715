#!/bin/sh
# The fairlead command in an image that has its bundle.
exec node /app/apps/cli/dist/bundle/main.js "$@"
