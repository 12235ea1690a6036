// Package checks carries out the checks of rollout policies: queries of HTTP endpoints and of
// Prometheus servers.
//
//	client, err := checks.New([]string{"http://prometheus.monitoring:9090"})
//	outcome := client.Look(ctx, check)
//	// outcome.Why: `check "errors": 0.07; expected at most 0.01`, outcome.Fails: true
//
// Callers may rely on:
//
//  1. A policy names the address; the service's operator allows the hosts that policies may name.
//     If none is allowed, no check is carried out and a ring with checks waits.
//  2. An allowed host name never leads to this machine, to a link-local address such as a cloud's
//     metadata service, or to a multicast address. Each connection is checked. An allowed IP
//     address may be any.
//  3. No redirect is followed, no proxy is used, and no credentials are sent.
//  4. The time of a check, the connections, and the bytes and samples of a response are bounded.
//  5. An endpoint fails by a status other than 200, a query by a sample beyond the bounds. An
//     unreachable server, a missing sample or one that is not a number fails nothing: the check
//     does not hold, and the ring waits.
//  6. Of a response, only its status and one number are repeated.
package checks
