// Package tree follows the symbolic links of a repository, in a folder and in a commit alike (rules
// 4 and 5 of package source).
package tree
