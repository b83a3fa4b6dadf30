#!/usr/bin/env bash
# Builds a release from the tag that is checked out, the same bytes on every machine with the same Go:
#
#   deploy/release/build.sh OUT [KEY]
#
# OUT, a new folder, gets an archive for each system (binary, licences of all that is linked, manual pages, example
# configuration, documentation, units, alert rules, manifests), the image for linux/amd64 and linux/arm64, a bill of materials (CycloneDX) for each, SHA256SUMS, and
# with KEY, an ed25519 key in PEM, its signature. docs/deploy.md says how to check and load them. It needs Go, GNU tar,
# git and openssl.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ $# = 1 ] || [ $# = 2 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
out=$1 key=${2:-}
tag=$(git describe --exact-match --match 'v[0-9]*' 2>/dev/null) ||
  { echo 'release: the commit that is checked out has no annotated tag such as v1.2.3' >&2; exit 1; }
[ ! -e "$out" ] || { echo "release: $out exists" >&2; exit 2; }
[ -z "$(git status --porcelain)" ] || { echo 'release: there are changes that are not committed' >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)

crane_version=0.22.1
cyclonedx_version=1.10.0
certificates=${WARDCAST_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt} # Debian's package ca-certificates
commit=$(git rev-parse HEAD)
epoch=$(git log -1 --format=%ct)
day=$(git log -1 --format=%cs)
tmp=$(mktemp -d)
registry=
trap '[ -z "$registry" ] || kill "$registry"; rm -rf "$tmp"' EXIT

export GOFLAGS='' CGO_ENABLED=0 GOAMD64=v1
tools=$tmp/tools
# A bill of materials holds the hash of the tool that wrote it, so that the tools too are the same bytes everywhere.
GOBIN=$tools go install -trimpath -ldflags=-buildid= "github.com/google/go-containerregistry/cmd/crane@v$crane_version"
GOBIN=$tools go install -trimpath -ldflags=-buildid= "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v$cyclonedx_version"

# pack writes the files of a folder, by name, as of the commit and of root.
pack() { # FOLDER ARCHIVE
  tar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=ustar --mode='u+rwX,go+rX,go-w' \
    -C "$1" -cf - . | gzip -n -9 >"$2"
}

# notices prints the licences of all modules that are linked.
notices() {
  local path version dir files
  # shellcheck disable=SC2016 # Go's template
  go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/wardcast | sort -u |
    while read -r path version dir; do
      files=$(find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
      [ -n "$files" ] || { echo "release: $path has no licence" >&2; return 1; }
      printf '\n== %s %s\n\n' "$path" "$version"
      # shellcheck disable=SC2086 # no space in names of the module cache
      cat $files
    done
  printf '\n== Go %s\n\n' "$(go env GOVERSION)"
  cat "$(go env GOROOT)/LICENSE"
}

mkdir -p "$tmp/common/man"
notices >"$tmp/common/THIRD-PARTY-NOTICES"
cp LICENSE README.md CHANGELOG.md SECURITY.md deploy/wardcast.yaml "$tmp/common"
# With their paths, so that the commands and links of the documentation hold in the archive too.
cp -r --parents docs deploy/{systemd,prometheus,kubernetes,compose.yaml,wardcast.yaml} models/report/testdata/site.yaml \
  "$tmp/common"
go run ./cmd/wardcast man --out "$tmp/common/man" --date "$day"

"$tools/crane" registry serve --address 127.0.0.1:0 >"$tmp/registry.log" 2>&1 &
registry=$!
until port=$(grep -om1 'port [0-9]*' "$tmp/registry.log"); do sleep .1; done
image=127.0.0.1:${port#port }/wardcast:$tag

for target in linux/amd64 linux/arm64 darwin/arm64; do
  os=${target%/*} arch=${target#*/} name=wardcast-$tag-${target/\//-}
  folder=$tmp/$name
  mkdir "$folder"
  cp -r "$tmp/common" "$folder/$name"
  GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.tag=$tag -X main.commit=$commit" -o "$folder/$name/wardcast" ./cmd/wardcast
  pack "$folder" "$out/$name.tar.gz"
  GOOS=$os GOARCH=$arch "$tools/cyclonedx-gomod" app -json -licenses -noserial -notimestamp \
    -main cmd/wardcast -output "$out/$name.cdx.json" .
  [ "$os" = linux ] || continue
  # An image of nothing but the binary, certificates, the user and the licences.
  root=$tmp/root-$arch
  mkdir -p "$root"/{usr/local/bin,usr/share/doc/wardcast,etc/ssl/certs,tmp}
  cp "$folder/$name/wardcast" "$root/usr/local/bin"
  cp "$folder/$name"/{LICENSE,THIRD-PARTY-NOTICES} "$root/usr/share/doc/wardcast"
  cp "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
  echo 'nonroot:x:65532:65532::/nonexistent:/sbin/nologin' >"$root/etc/passwd"
  echo 'nonroot:x:65532:' >"$root/etc/group"
  pack "$root" "$tmp/$arch.tar.gz"
  "$tools/crane" append --insecure --oci-empty-base --platform "$target" -f "$tmp/$arch.tar.gz" -t "$image-$arch"
  "$tools/crane" mutate --insecure "$image-$arch" -t "$image-$arch" --set-platform "$target" --user 65532:65532 \
    --entrypoint wardcast --cmd serve,--config,/etc/wardcast/wardcast.yaml --env PATH=/usr/local/bin \
    --exposed-ports 8080/tcp --label "org.opencontainers.image.version=$tag" \
    --label "org.opencontainers.image.revision=$commit" --label org.opencontainers.image.licenses=Apache-2.0
  images+=(-m "$image-$arch")
done
"$tools/crane" index append --insecure "${images[@]}" -t "$image"
"$tools/crane" pull --insecure --format oci "$image" "$tmp/oci"
pack "$tmp/oci" "$out/wardcast-$tag-image.tar.gz"
"$tools/crane" digest --insecure "$image" >"$out/wardcast-$tag-image.digest"

cd "$out"
sha256sum -- * >"$tmp/SHA256SUMS"
mv "$tmp/SHA256SUMS" .
[ -z "$key" ] || openssl pkeyutl -sign -rawin -inkey "$key" -in SHA256SUMS -out SHA256SUMS.sig
ls -l
