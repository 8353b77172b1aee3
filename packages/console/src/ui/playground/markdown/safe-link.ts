/** What a link may lead to. Named at its very start, so that no tab, entity or odd case can hide another scheme. */
const allowed = /^(?:https?:\/\/|mailto:)[^\s]/i
const protocols: readonly string[] = ['http:', 'https:', 'mailto:']

/** The address as a link may have it; undefined: it must not be one. Relative addresses would lead into the gateway. */
export function safeLink(address: string): string | undefined {
  if (!allowed.test(address)) return undefined
  try {
    const { protocol, href } = new URL(address)
    return protocols.includes(protocol) ? href : undefined
  } catch {
    return undefined
  }
}
