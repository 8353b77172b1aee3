/** Allowed schemes, matched at the very start, so that no tab, entity or case can hide another one. */
const allowed = /^(?:https?:\/\/|mailto:)[^\s]/i
const protocols: readonly string[] = ['http:', 'https:', 'mailto:']

/** Returns the address if a link may have it, else undefined. Relative addresses would lead into the gateway. */
export function safeLink(address: string): string | undefined {
  if (!allowed.test(address)) return undefined
  try {
    const { protocol, href } = new URL(address)
    return protocols.includes(protocol) ? href : undefined
  } catch {
    return undefined
  }
}
