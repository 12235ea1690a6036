// Package tlsreload configures TLS with a certificate and client authorities that are read again
// as their files change, so that nobody restarts the service to renew a certificate.
//
// Its rules:
//
//  1. A bad file leaves the last good certificate, or authorities, in use.
//  2. A handshake succeeds without a client certificate: probes and metrics need none, and the
//     kubelet has none. A presented certificate has to be good.
//  3. An authority that has been taken out of its file does not count on open connections either:
//     Verify asks the file again for each request, and sessions are not resumed.
package tlsreload
