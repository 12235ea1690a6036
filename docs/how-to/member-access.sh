#!/bin/sh
# Gives a hub its first token of a member with least rights, and prints what to commit for the hub.
#
#   member-access.sh CLUSTER MEMBER_CONTEXT HUB_CONTEXT HUB_NAMESPACE VALUES [CHART]
#
# VALUES is a values file of charts/member-access. Contexts are kubectl's; the member's may write
# RBAC there, the hub's Secrets in HUB_NAMESPACE. Run it again when a token has expired.
set -eu
if [ $# -lt 5 ]; then
  sed -n '4,7s/^# *//p' "$0" >&2
  exit 2
fi
cluster=$1 member=$2 hub=$3 namespace=$4 values=$5 chart=${6:-oci://ghcr.io/argosy-hub/charts/member-access}
of_values() { sed -n "s/^$1: *[\"']\{0,1\}\([a-z0-9][-a-z0-9]*\).*/\1/p" "$values"; }
name=$(of_values name) there=$(of_values namespace)
name=${name:-fleet-access} there=${there:-fleet-access}

helm --kube-context "$member" upgrade --install member-access "$chart" --namespace "$there" --create-namespace \
  --values "$values" --set side=member >&2
of() { kubectl --context "$member" config view --raw --minify --flatten --output "jsonpath={.clusters[0].cluster.$1}"; }
server=$(of server) ca=$(of certificate-authority-data)
token=$(kubectl --context "$member" --namespace "$there" create token "$name" --duration 1h)

# By standard input: arguments are seen by everybody on the machine.
kubectl --context "$hub" apply --filename - >&2 <<SECRET
apiVersion: v1
kind: Secret
metadata:
  name: $cluster-access
  namespace: $namespace
  labels: {argosy.dev/cluster: $cluster, external-secrets.io/type: webhook}
stringData: {token: $token}
SECRET
printf 'side: hub\nhub:\n  cluster: %s\n  server: %s\n  caData: %s\n' "$cluster" "$server" "$ca"
