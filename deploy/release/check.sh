#!/usr/bin/env bash
# Checks what build.sh makes: two builds from two folders, homes and users are the same bytes, the signature holds, the
# bill of materials has every module, mandoc finds no fault in the pages, and the image starts as its user on a read-only root.
#
#   deploy/release/check.sh FOLDER      a folder for all that it makes; it needs root, mandoc, and what build.sh needs
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mkdir -p "$1" && cd "$1" && pwd)

command -v mandoc >/dev/null || { echo 'release: mandoc is missing' >&2; exit 1; }
openssl genpkey -algorithm ed25519 -out "$tmp/key.pem"
openssl pkey -in "$tmp/key.pem" -pubout -out "$tmp/key.pub"
# as_other runs a command as another user, with caches of its own that are hard links, so that nothing is fetched or compiled
# twice. It may read what root may, such as the key.
other=65534
as_other() { # FOLDER COMMAND...
  local folder=$1 cache
  shift
  for cache in GOMODCACHE GOCACHE; do
    cp -al "$(go env $cache)" "$folder/$cache" 2>/dev/null || { rm -rf "${folder:?}/$cache"; cp -r "$(go env $cache)" "$folder/$cache"; }
    find "$folder/$cache" -type d -exec chmod u+w {} + -exec chown "$other" {} +
  done
  chown -R "$other" "$folder/source" "$folder/home"
  chown "$other" "$folder"
  setpriv --reuid "$other" --clear-groups --inh-caps +dac_read_search --ambient-caps +dac_read_search \
    env GOMODCACHE="$folder/GOMODCACHE" GOCACHE="$folder/GOCACHE" "$@"
}
as_root() { shift && env GOMODCACHE="$(go env GOMODCACHE)" GOCACHE="$(go env GOCACHE)" "$@"; }
for build in 'as_root a' 'as_other elsewhere/and/deeper/b'; do
  read -r as folder <<<"$build"
  folder=$tmp/$folder
  mkdir -p "$folder/home"
  git clone -q "$top" "$folder/source"
  git -C "$folder/source" -c user.name=check -c user.email=check@example.invalid tag -a v0.0.1-check -m 'A check of releases'
  "$as" "$folder" HOME="$folder/home" bash "$folder/source/deploy/release/build.sh" "$folder/out" "$tmp/key.pem" \
    >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
done
out=$tmp/a/out
cmp "$out/SHA256SUMS" "$tmp/elsewhere/and/deeper/b/out/SHA256SUMS"
(cd "$out" && sha256sum --quiet -c SHA256SUMS)
openssl pkeyutl -verify -rawin -pubin -inkey "$tmp/key.pub" -sigfile "$out/SHA256SUMS.sig" -in "$out/SHA256SUMS"

name=wardcast-v0.0.1-check-linux-amd64
tar -xzf "$out/$name.tar.gz" -C "$tmp"
go version -m "$tmp/$name/wardcast" | awk '$1 == "dep" { print $2 "@" $3 }' | while read -r module; do
  grep -qF "pkg:golang/$module" "$out/$name.cdx.json" || { echo "release: $module is not in the bill of materials"; exit 1; }
  grep -qF "== ${module/@/ }" "$tmp/$name/THIRD-PARTY-NOTICES" || { echo "release: $module has no notice"; exit 1; }
done
for file in docs/deploy.md deploy/systemd/wardcast.service deploy/prometheus/wardcast.rules.yml models/report/testdata/site.yaml; do
  [ -e "$tmp/$name/$file" ] || { echo "release: $file is not in the archive"; exit 1; }
done
wrong=$(cd "$tmp/$name/man" && mandoc -Tlint ./*.1 | grep -v 'referenced manual not found') || true
[ -z "$wrong" ] || { echo "$wrong"; exit 1; }

# The image: unpack the layer of this processor, and start it with nothing to write to.
mkdir "$tmp/oci" "$tmp/root"
tar -xzf "$out/wardcast-v0.0.1-check-image.tar.gz" -C "$tmp/oci"
python3 - "$tmp/oci" "$tmp/root" <<'END'
import json, subprocess, sys
oci, root = sys.argv[1:]
blob = lambda digest: f"{oci}/blobs/{digest.replace(':', '/')}"
read = lambda digest: json.load(open(blob(digest)))
index = read(json.load(open(oci + "/index.json"))["manifests"][0]["digest"])
manifest = next(read(m["digest"]) for m in index["manifests"] if read(read(m["digest"])["config"]["digest"])["architecture"] == "amd64")
config = read(manifest["config"]["digest"])["config"]
assert config["User"] == "65532:65532" and config["Entrypoint"] == ["wardcast"], config
assert config["Labels"]["org.opencontainers.image.version"] == "v0.0.1-check", config
for layer in manifest["layers"]:
    subprocess.run(["tar", "-xf", blob(layer["digest"]), "-C", root], check=True)
END
unshare --mount bash -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" &&
  exec chroot --userspec=65532:65532 "$1" /usr/local/bin/wardcast version' _ "$tmp/root" | grep -F 'wardcast v0.0.1-check'
