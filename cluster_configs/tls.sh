#!/usr/bin/env bash
# Scheduler and CPU workers that talk TLS only, where others are on the network too: no other host can
# connect or read along without the certificate. It prints how clients connect.
#   [PORT=8786] cluster_configs/tls.sh [WORKERS] [FOLDER]     (default: 1 worker, tls)
# FOLDER has ca.pem, cert.pem and key.pem for scheduler, workers and clients alike; they are made if
# none are there. Copy them to other machines by a safe way: who has key.pem has the cluster.
# The dashboard has no TLS: it is at 127.0.0.1:8787, unless DASHBOARD says otherwise.
set -euo pipefail
workers=${1:-1}
folder=${2:-tls}
fail() {
  echo "tls.sh: $1" >&2
  exit "${2:-1}"
}
if [[ $# -gt 2 || ! $workers =~ ^[1-9][0-9]*$ || $folder = -* ]]; then
  fail "usage: [PORT=8786] tls.sh [WORKERS] [FOLDER], WORKERS a number from 1 on" 2
fi
command -v openssl >/dev/null || fail "openssl is not installed, and makes the certificates"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
ca=$folder/ca.pem cert=$folder/cert.pem key=$folder/key.pem

make_certificates() ( # the CA signs once: its key goes with the temporary folder
  umask 077
  new=$(mktemp -d "$folder/new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  cat >"$new/openssl.cnf" <<'END'
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[all]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
END
  new_key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -config "$new/openssl.cnf")
  openssl req -x509 "${new_key[@]}" -extensions ca -days 365 -subj "/CN=daskbfs CA" \
    -keyout "$new/ca-key.pem" -out "$new/ca.pem"
  openssl req "${new_key[@]}" -subj "/CN=daskbfs" -keyout "$new/key.pem" -out "$new/request.pem"
  openssl x509 -req -in "$new/request.pem" -CA "$new/ca.pem" -CAkey "$new/ca-key.pem" \
    -set_serial 1 -days 365 -extfile "$new/openssl.cnf" -extensions all -out "$new/cert.pem"
  mv "$new/ca.pem" "$new/cert.pem" "$new/key.pem" "$folder"
)

if [[ ! -e $ca && ! -e $cert && ! -e $key ]]; then
  told=$(make_certificates 2>&1) || fail "openssl could not make certificates: $told"
fi
for file in "$ca" "$cert" "$key"; do
  [[ -r $file ]] || fail "$file is missing: ca.pem, cert.pem and key.pem belong together"
done
openssl x509 -in "$cert" -noout -checkend 0 >/dev/null ||
  fail "$cert has expired: remove ca.pem, cert.pem and key.pem for new ones"

trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM HUP
set -m # Ctrl-C is for this script only, which then ends the others
rm -f "$folder/scheduler.json" # of a scheduler that is gone: workers would look for it
export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=true
each=(--protocol tls --tls-ca-file "$ca" --tls-cert "$cert" --tls-key "$key"
  --scheduler-file "$folder/scheduler.json")
dask scheduler "${each[@]}" --port "${PORT:-8786}" --preload daskbfs.dashboard \
  --dashboard-address "${DASHBOARD:-127.0.0.1:8787}" &
scheduler=$!
# one task at a time: kernels bring their own threads; no limit, since partitions cannot be spilled
dask worker "${each[@]}" --nworkers "$workers" --nthreads 1 --memory-limit 0 \
  --dashboard-address 127.0.0.1:0 &
cat <<END
In Python:
  Client("tls://$(hostname):${PORT:-8786}", security=Security(tls_ca_file="$ca",
         tls_client_cert="$cert", tls_client_key="$key", require_encryption=True))
In a shell:
  export DASK_DISTRIBUTED__COMM__TLS__CA_FILE="$ca"
  export DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT="$cert"
  export DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY="$key"
  daskbfs run kron:20 --scheduler tls://$(hostname):${PORT:-8786}
END
wait "$scheduler"
