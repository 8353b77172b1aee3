import { expect, test } from 'vitest'
import { isPublicAddress } from './public-address.ts'

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '172.15.255.255',
  '172.32.0.1',
  '192.0.1.1',
  '223.255.255.255',
  '2606:4700::1111',
  '2a00:1450:4001::64',
])('accepts %s as a public address', (address) => expect(isPublicAddress(address)).toBe(true))

test.each([
  // loopback and unspecified
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '::1',
  '::',
  // private networks, carrier-grade NAT, cloud metadata
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  '2606:4700::1%eth0',
  // IPv4 addresses mapped to IPv6
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:8.8.8.8',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '2001::1',
  // reserved and documentation
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '255.255.255.255',
  '240.0.0.1',
  '2001:db8::1',
  '3fff::1',
  'ff02::1',
  // not an address
  '',
  'localhost',
  '127.1',
  '0x7f000001',
  '2130706433',
])('does not accept %s as a public address', (address) => expect(isPublicAddress(address)).toBe(false))
