package hub

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// CaptureLogs sends what the Kubernetes client libraries log to a logger, for the whole process.
func CaptureLogs(log *slog.Logger) { klog.SetSlogLogger(log) }

// LoadConfig finds the API server: by the file given, else by the variable KUBECONFIG, else by the Pod's service
// account, else by ~/.kube/config.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		if c, err := rest.InClusterConfig(); err == nil {
			return c, nil
		} else if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, fmt.Errorf("kubernetes configuration of the pod: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no kubernetes configuration: run in a pod, set KUBECONFIG, or use --facts none or a file")
	}
	if err != nil {
		return nil, fmt.Errorf("kubernetes configuration: %w", err)
	}
	return c, nil
}

// metadataOnly is a configuration whose requests cannot bring a whole object (rule 1).
func metadataOnly(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	if c.UserAgent == "" {
		c.UserAgent = "argosy"
	}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return partial{next} })
	return c
}

// partial lets only requests for PartialObjectMetadata through. client-go's metadata client accepts plain JSON as its
// last choice (metadata.go, v0.31), which a server that cannot do better would answer with the whole Secret: that
// choice is taken out, so that such a server answers 406.
type partial struct{ next http.RoundTripper }

func (p partial) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet {
		return nil, fmt.Errorf("%s requests are not made here", q.Method)
	}
	var kept []string
	for _, value := range q.Header.Values("Accept") {
		for _, media := range strings.Split(value, ",") {
			if strings.Contains(media, ";as=PartialObjectMetadata") {
				kept = append(kept, strings.TrimSpace(media))
			}
		}
	}
	if len(kept) == 0 {
		return nil, errors.New("a request for more than metadata is not made here")
	}
	q = q.Clone(q.Context())
	q.Header.Set("Accept", strings.Join(kept, ","))
	return p.next.RoundTrip(q)
}

// short is an error as State.Err tells it: without addresses, ports, resource versions and times (G5). Nil for what
// is no failure.
func (h *Hub) short(err error) error {
	var (
		dns     *net.DNSError
		unknown x509.UnknownAuthorityError
		other   x509.HostnameError
		invalid x509.CertificateInvalidError
		timeout net.Error
		op      *net.OpError
		status  apierrors.APIStatus
		what    string
	)
	switch {
	case err == nil, apierrors.IsResourceExpired(err), apierrors.IsGone(err): // the latter two mean: list again
		return nil
	case apierrors.IsForbidden(err):
		what = "access denied; allow list and watch on secrets"
	case apierrors.IsUnauthorized(err):
		what = "the API server does not accept the credentials"
	case apierrors.IsNotAcceptable(err):
		what = "the API server cannot answer with metadata alone"
	case errors.As(err, &dns):
		what = "the API server's host is not found"
	case errors.As(err, &unknown), errors.As(err, &other), errors.As(err, &invalid):
		what = "the API server's certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		what = "the API server does not answer in time"
	case errors.As(err, &status) && status.Status().Code != 0:
		what = fmt.Sprintf("the API server answers %d", status.Status().Code)
	case errors.As(err, &op):
		what = "the API server cannot be reached"
	default:
		what = "the API server's answer cannot be used"
	}
	return fmt.Errorf("cluster secrets in namespace %q: %s", h.namespace, what)
}
