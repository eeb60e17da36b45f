/** Which addresses a request that came from a model, or was sent on by a server, may reach. */
import { BlockList, isIP } from 'node:net';

/** Special-purpose blocks of IPv4 that are not globally reachable, multicast, and what is reserved beyond it. */
const RESERVED_V4 = blocks('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // A public number that some clouds answer from inside the host.
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
]);

/** All that is given out as global unicast. IPv4 in any IPv6 spelling, unique-local and link-local lie outside. */
const GLOBAL_V6 = blocks('ipv6', [['2000::', 3]]);

/** Inside global unicast: protocol assignments and tunnels that carry an IPv4 address, and documentation. */
const RESERVED_V6 = blocks('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]);

/** False for whatever is no plain IPv4 or IPv6 address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !RESERVED_V4.check(address, 'ipv4');
    case 6:
      // A zone names an interface of this machine.
      return (
        !address.includes('%') && GLOBAL_V6.check(address, 'ipv6') && !RESERVED_V6.check(address, 'ipv6')
      );
    default:
      return false;
  }
}

function blocks(family: 'ipv4' | 'ipv6', subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of subnets) list.addSubnet(network, prefix, family);
  return list;
}
