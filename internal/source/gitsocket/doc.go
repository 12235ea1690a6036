// Package gitsocket keeps Git in another process than the service: in a container of its own, which
// has the credentials for Git and no token of Kubernetes.
//
//	Server  polls a source, and sends its snapshots over a unix socket
//	Client  is a source that asks a Server
//
// Its rules:
//
//  1. The protocol has one operation: poll. A request names no address, ref, path or command that
//     the server would use: both sides have their own options, and the server refuses a client that
//     expects another repository or ref.
//  2. A response is a snapshot, or its difference to the one that the client has. Each line is one
//     frame of JSON, and a file's content follows its frame.
//  3. The client believes nothing. It checks each frame, path, size, number and sum by its own
//     limits before it reserves memory, computes digests itself, and uses a whole snapshot or
//     nothing. So a Git process that is taken over can serve a wrong tree, and do nothing else.
//  4. A server that is away, hangs or sends nonsense changes nothing: the client's last snapshot
//     stays, next to an error (rule 2 of package source). The client polls again after a second
//     when the server was away.
//  5. The socket has no token: who can open it reads the repository. It is in a folder that the two
//     processes alone have.
package gitsocket
