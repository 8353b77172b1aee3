import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Networks outside the public internet, by IANA's registries of special-purpose addresses. */
const special = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Azure's virtual machines reach their host here.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  special.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of [
  // Protocol assignments (Teredo, ORCHID), documentation, and 6to4, which maps to an IPv4 address.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  special.addSubnet(network, bits, 'ipv6')

/** Global unicast, which excludes mapped and translated IPv4, loopback, link-local and unique local addresses. */
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

/** Returns whether an address belongs to the public internet. False for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4')
  // A zone (`%eth0`) names an interface of this machine.
  return isIPv6(address) && !address.includes('%') && global6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}
