package hub

import (
	"context"
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
func CaptureLogs(log *slog.Logger) { klog.SetSlogLogger(slog.New(quieter{log.Handler()})) }

// quieter is a log handler that lowers every level below an error to debug.
type quieter struct{ slog.Handler }

// Enabled reports whether a level is logged.
func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, lower(level))
}

// Handle logs a record.
func (q quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = lower(r.Level)
	return q.Handler.Handle(ctx, r)
}

// WithAttrs returns the handler with more attributes.
func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}

// WithGroup returns the handler with a group.
func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }

func lower(level slog.Level) slog.Level {
	if level < slog.LevelError {
		return min(level, slog.LevelDebug)
	}
	return level
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
