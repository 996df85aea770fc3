// Package sandbox gives a program a machine of its own, as far as a cluster's node needs one: a command goes in, and it
// runs as root in network, mount and PID namespaces of its own, linked to the host's network by one pair of interfaces.
//
// Nothing of it outlives the process that opened it, however that ends. The kernel sees to most: the first process of the
// namespaces is killed with its parent; with it goes every process of its PID namespace, with the last of them the mounts
// and the network, and with the network the host's end of the link and its routes. What the kernel keeps (cgroups, a
// temporary folder) is written down in a record that is locked for as long as its owner lives, and the next Open or Clean
// removes what belongs to records that nobody holds.
package sandbox
