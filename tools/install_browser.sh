#!/usr/bin/env bash
# Sees to it that there is a Chromium, in which the tests open the report's page.
#
#   tools/install_browser.sh           what is installed is used; otherwise the distribution's is installed, as root
#   tools/install_browser.sh PATH      use this one
#   tools/install_browser.sh none      the tests that need a browser are left out
set -euo pipefail

wanted="${1:-}"
if [[ "$wanted" == none ]]; then
    echo "no browser: tests of the report's page will be skipped"
    exit 0
fi
if [[ -n "$wanted" ]]; then
    command -v "$wanted" >/dev/null && exit 0
    echo "CHROMIUM=$wanted: there is no such program" >&2
    exit 1
fi
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && exit 0
done

if [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium >/dev/null
    exit 0
fi
cat >&2 <<'TEXT'
The tests of the report's page need Chromium, and there is none. One of these:
  sudo apt-get install chromium          (or what your distribution calls it)
  make test CHROMIUM=/path/to/chromium   (Chrome will do)
  make test CHROMIUM=none                (leaves those tests out)
TEXT
exit 1
