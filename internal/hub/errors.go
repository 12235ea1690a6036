package hub

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// short returns an error for State.Err, with the permission that would fix it, and without
// addresses, ports, resource versions and times. So the same failure has the same text.
func (c *client) short(err error, permission string) error {
	var (
		dns     *net.DNSError
		unknown x509.UnknownAuthorityError
		other   x509.HostnameError
		invalid x509.CertificateInvalidError
		timeout net.Error
		op      *net.OpError
		status  apierrors.APIStatus
		many    tooMany
		what    string
	)
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		what = "access denied; allow " + permission
	case apierrors.IsNotFound(err):
		what = "the API server knows no such resource; is " + cmp.Or(c.of, "Argo CD") + " installed?"
	case apierrors.IsUnauthorized(err):
		what = "the API server does not accept the credentials"
	case apierrors.IsNotAcceptable(err):
		what = "the API server cannot answer with metadata only"
	case errors.As(err, &dns):
		what = "the API server's host is not found"
	case errors.As(err, &unknown), errors.As(err, &other), errors.As(err, &invalid):
		what = "the API server's certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		what = "the API server does not answer in time"
	case errors.As(err, &status) && status.Status().Code != 0:
		what = fmt.Sprintf("the API server answers %d", status.Status().Code)
	case errors.As(err, &many):
		what = many.Error()
	case errors.As(err, &op):
		what = "the API server cannot be reached"
	default:
		what = "the API server's answer cannot be used"
	}
	return fmt.Errorf("%s in namespace %q: %s", c.what, c.namespace, what)
}

// isExpired reports whether a list or a watch has to start again, which is not a failure.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
