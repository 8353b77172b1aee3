import type { Json } from '../formats/format.ts'
import { shareFragment, shareParameter } from './fragment.ts'
import { readShared, type Shared, sharedOf } from './shared-draft.ts'

/** Chat programs and mail cut longer addresses. */
const longestLink = 16_000

/** Returns the address of this page with the settings and the prompt in its fragment, which is not sent to the server. Undefined: too long. */
export function linkOf(shared: Shared, address: string): string | undefined {
  const link = `${address.split('#', 1)[0]}${shareFragment(sharedOf(shared))}`
  return link.length > longestLink ? undefined : link
}

/**
 * Returns the settings of a link and removes them from the address bar and the history entry. `damaged`: the link was cut or
 * is not from the Playground. Undefined: the address has none.
 */
export function takeSharedFromAddress(): Shared | 'damaged' | undefined {
  const parameters = new URLSearchParams(location.hash.slice(1))
  const value = parameters.get(shareParameter)
  if (value === null) return undefined
  parameters.delete(shareParameter)
  const rest = parameters.toString()
  history.replaceState(history.state, '', location.pathname + location.search + (rest === '' ? '' : `#${rest}`))
  return readLink(value) ?? 'damaged'
}

function readLink(value: string): Shared | undefined {
  try {
    const binary = atob(value.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    return readShared(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json)
  } catch {
    return undefined
  }
}
