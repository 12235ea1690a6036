package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Users of the static token file. All are administrators: what this suite tests is not Kubernetes'
// own authorization, and with rights of their own, kube-controller-manager's controllers would need
// a service account each.
const (
	admin                 = "admin"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
	kwokUser              = "kwok"
)

// Files of a cluster's directory.
const (
	caCert      = "ca.crt"
	servingCert = "apiserver.crt"
	servingKey  = "apiserver.key"
	accountKey  = "service-accounts.key"
	tokenFile   = "tokens.csv"
	stagesFile  = "stages.yaml"
)

// files are what a cluster's processes read.
type files struct {
	dir, url string
	ca       []byte
	tokens   map[string]string // user → token
}

func (f *files) path(name string) string { return filepath.Join(f.dir, name) }

func (f *files) kubeconfig(user string) string {
	return f.path(strings.TrimPrefix(user, "system:") + ".kubeconfig")
}

// prepare makes keys, certificates and tokens (rule 3).
func prepare(dir, url string) (*files, error) {
	f := &files{dir: dir, url: url, tokens: map[string]string{}}
	if err := f.certificates(); err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	var table strings.Builder
	for _, user := range []string{admin, controllerManagerUser, schedulerUser, kwokUser} {
		secret := make([]byte, 16)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		f.tokens[user] = hex.EncodeToString(secret)
		fmt.Fprintf(&table, "%s,%s,%[2]s,system:masters\n", f.tokens[user], user)
		config := kubeconfig{cluster: filepath.Base(dir), url: url, ca: f.ca, user: user, token: f.tokens[user]}
		if err := writeKubeconfig(f.kubeconfig(user), config); err != nil {
			return nil, err
		}
	}
	if err := f.write(stagesFile, stages); err != nil {
		return nil, err
	}
	return f, f.write(tokenFile, []byte(table.String()))
}

func (f *files) write(name string, text []byte) error { return os.WriteFile(f.path(name), text, 0o600) }

// certificates makes the authority, the API server's certificate and the service accounts' key. The
// authority's own key is not kept.
func (f *files) certificates() error {
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "argosy-e2e " + filepath.Base(f.dir)},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              now.AddDate(1, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if f.ca, err = f.certify(caCert, authority, authority, authorityKey, authorityKey); err != nil {
		return err
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	key, err := f.key(servingKey)
	if err != nil {
		return err
	}
	if _, err := f.certify(servingCert, serving, authority, key, authorityKey); err != nil {
		return err
	}
	_, err = f.key(accountKey)
	return err
}

// certify writes a certificate for key, signed by the issuer's.
func (f *files) certify(name string, certificate, issuer *x509.Certificate, key, issuerKey *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, certificate, issuer, key.Public(), issuerKey)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return text, f.write(name, text)
}

// key writes a new private key.
func (f *files) key(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, f.write(name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// kubeconfig is what one says: a user of a cluster.
type kubeconfig struct {
	cluster, url string
	ca           []byte
	user, token  string
	namespace    string
}

// writeKubeconfig writes it with mode 0600.
func writeKubeconfig(path string, k kubeconfig) error {
	config := api.NewConfig()
	config.Clusters[k.cluster] = &api.Cluster{Server: k.url, CertificateAuthorityData: k.ca}
	config.AuthInfos[k.user] = &api.AuthInfo{Token: k.token}
	config.Contexts[k.cluster] = &api.Context{Cluster: k.cluster, AuthInfo: k.user, Namespace: k.namespace}
	config.CurrentContext = k.cluster
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return os.Chmod(path, 0o600) // one that was there keeps its mode
}
