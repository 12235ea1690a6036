package hub

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// CaptureLogs sends what the Kubernetes client libraries log to a logger, for the whole process.
// Messages below an error get the debug level: the libraries log each attempt, and this package
// logs the results.
func CaptureLogs(log *slog.Logger) {
	klog.SetSlogLogger(log)
	klog.SetLogger(klog.Background().V(-int(slog.LevelDebug)))
}

// LoadContext returns a context of a kubeconfig: the given file, else the variable KUBECONFIG, else
// ~/.kube/config. An empty context is the current one.
func LoadContext(kubeconfig, name string) (*rest.Config, error) {
	return load(kubeconfig, name, "give --kubeconfig, or set KUBECONFIG")
}

// LoadConfig returns the configuration of the API server: from the given file, else the variable
// KUBECONFIG, else the Pod's service account, else ~/.kube/config.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		if c, err := rest.InClusterConfig(); err == nil {
			return c, nil
		} else if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("kubernetes configuration of the pod: %w", err)
		}
	}
	return load(kubeconfig, "", "run in a pod, set KUBECONFIG, or use --facts none or a file")
}

// load reads a kubeconfig. The hint says what to do if there is none.
func load(kubeconfig, context, hint string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubernetes configuration: " + hint)
	}
	if err != nil {
		return nil, fmt.Errorf("kubernetes configuration: %w", err)
	}
	return c, nil
}
