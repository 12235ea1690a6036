// Package gitsocket runs Git in another process than the service: in a separate container, which
// has the credentials for Git and no token of Kubernetes.
//
//	Server  polls a source, and sends its snapshots over a unix socket
//	Client  is a source that asks a Server
//
// A conversation, one JSON frame a line:
//
//	{"protocol":2,"source":"git \"https://git.example/fleet.git\"","ref":"main","have":"4f1c..."}
//	{"start":{"revision":"9a2e...","base":"4f1c..."}}
//	{"file":{...}} and the file's content, for each changed file
//	{"end":true}
//
// Callers may rely on:
//
//  1. The protocol has one operation: poll. A request names no address, path or command that the
//     server would use: each side has its own options. The server rejects a client that expects
//     another repository or ref.
//  2. A response is a snapshot, or its difference to the client's snapshot.
//  3. The client does not trust the server. It checks each frame, path, size, number and sum by its
//     own limits before it reserves memory, computes digests itself, and uses a whole snapshot or
//     nothing. So a compromised Git process can serve a wrong tree, and do nothing else.
//  4. A server that cannot be reached, hangs or sends invalid frames changes nothing: the client
//     keeps its last snapshot, next to an error. If the server could not be reached, the client
//     polls again after a second.
//  5. The socket has no token: whoever can open it reads the repository. It is in a folder that
//     only the two processes have.
package gitsocket
