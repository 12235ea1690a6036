// Package tlsreload configures TLS with a certificate and client authorities that are read again
// as their files change. A renewed certificate needs no restart of the service.
//
//	clients, err := tlsreload.OpenAuthorities("/tls/ca.crt", log, nil)
//	config, err := tlsreload.New(tlsreload.Options{
//		Cert: "/tls/tls.crt", Key: "/tls/tls.key", Clients: clients, Log: log,
//	})
//	err = clients.Verify(request.TLS) // for each request that needs a client certificate
//
// Callers may rely on:
//
//  1. An invalid file leaves the last valid certificate, or authorities, in use.
//  2. A handshake succeeds without a client certificate: probes and metrics need none, and the
//     kubelet has none. A presented certificate must be valid.
//  3. A removed authority does not count on open connections either: Verify uses the file's current
//     authorities, and sessions are not resumed.
package tlsreload
