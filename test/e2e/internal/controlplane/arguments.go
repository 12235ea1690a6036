package controlplane

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// Issuer is who signs the tokens of a cluster's ServiceAccounts.
func Issuer(cluster string) string { return "https://oidc.example.com/id/" + cluster }

// apiServer are kube-apiserver's arguments.
func apiServer(f *files, etcd *Etcd, name string, port int, without []string) []string {
	gates := ""
	for _, feature := range append([]string{"APIServerIdentity", "UnknownVersionInteroperabilityProxy"}, without...) { // a lease renewed every 10 seconds
		gates += "," + feature + "=false"
	}
	return []string{
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", // else a machine without a network has none to advertise
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + f.path(servingCert),
		"--tls-private-key-file=" + f.path(servingKey),
		"--etcd-servers=" + etcd.URL,
		"--etcd-prefix=/" + name,
		"--endpoint-reconciler-type=none", // it would refuse a loopback address
		"--service-cluster-ip-range=10.96.0.0/16",
		"--token-auth-file=" + f.path(tokenFile),
		// Node authorization is for kubelets, of which there are none; it would watch every pod and
		// secret for them.
		"--authorization-mode=RBAC",
		"--service-account-issuer=" + Issuer(name),
		"--service-account-key-file=" + f.path(accountKey),
		"--service-account-signing-key-file=" + f.path(accountKey),
		"--allow-privileged=true", // agents of all kinds ask for it; nothing is run
		// What follows spares processor time (rule 6).
		"--profiling=false",
		"--feature-gates=" + gates[1:],
		"--etcd-count-metric-poll-period=0",
		"--etcd-db-metric-poll-interval=0",
		"--event-ttl=15m",
		"--shutdown-send-retry-after=false",
	}
}

// controllers that something here needs. The rest looks after volumes, cloud providers,
// certificates, ...
var controllers = []string{
	// workloads
	"deployment-controller",
	"replicaset-controller",
	"statefulset-controller",
	"daemonset-controller",
	"job-controller",
	"cronjob-controller",
	"endpointslice-controller",
	"disruption-controller",
	// what namespaces have and how they, and objects with owners, go
	"namespace-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller",
	"garbage-collector-controller",
	"clusterrole-aggregation-controller",
	"resourcequota-controller", // which counts what quotas limit
	// nodes
	"node-lifecycle-controller",
	"taint-eviction-controller",
	"pod-garbage-collector-controller",
}

// controllerManager are kube-controller-manager's arguments.
func controllerManager(f *files) []string {
	return []string{
		"--kubeconfig=" + f.kubeconfig(controllerManagerUser),
		"--secure-port=0", // nothing asks it for its health or metrics
		"--leader-elect=false",
		"--profiling=false",
		"--controllers=" + strings.Join(controllers, ","),
		"--root-ca-file=" + f.path(caCert),
		"--service-account-private-key-file=" + f.path(accountKey),
		"--kube-api-qps=100", // a fleet's worth of objects comes at once
		"--kube-api-burst=200",
		"--node-monitor-grace-period=24h", // KWOK tells of its node every 10 minutes and more
		"--node-monitor-period=1m",
	}
}

// scheduler are kube-scheduler's arguments.
func scheduler(f *files) []string {
	return []string{
		"--kubeconfig=" + f.kubeconfig(schedulerUser),
		"--secure-port=0",
		"--leader-elect=false",
		"--profiling=false",
		"--kube-api-qps=100",
		"--kube-api-burst=200",
	}
}

// stages are those of stages.yaml.
//
//go:embed stages.yaml
var stages []byte

// kwok are its arguments. How nodes and pods become ready, and pods go, are the stages built into
// it.
func kwok(f *files) []string {
	return []string{
		"--config=" + f.path(stagesFile),
		"--kubeconfig=" + f.kubeconfig(kwokUser),
		"--manage-all-nodes",
		"--node-ip=127.0.0.1",
		"--node-lease-duration-seconds=0",
		fmt.Sprintf("--cidr=%s", podRange),
	}
}

// podRange is where the addresses are from that KWOK gives pods.
const podRange = "10.244.0.0/16"
