import type { Rounds } from '../conversation/rounds.ts'
import { readConversation, storedConversation } from '../conversation/stored-rounds.ts'
import type { Json } from '../formats/format.ts'
import { readShared, type Shared, sharedOf } from './shared-draft.ts'

/** The largest file that is read. */
const largestBytes = 50_000_000

/** Returns a conversation and its settings as the text of a file. It contains no token. */
export const conversationFile = (rounds: Rounds, shared: Shared): string =>
  `${JSON.stringify({ ...storedConversation(rounds), settings: sharedOf(shared) }, null, 2)}\n`

export type ReadFile = { readonly rounds: Rounds; readonly shared: Shared | undefined } | { readonly wrong: string }

/** Reads `conversationFile`. */
export async function readConversationFile(file: Blob & { readonly name: string }): Promise<ReadFile> {
  const wrong = (why: string): ReadFile => ({ wrong: `${file.name.slice(0, 100)} was not imported: ${why}.` })
  if (file.size > largestBytes) return wrong(`it is larger than ${largestBytes / 1_000_000} MB`)
  let value: unknown
  try {
    value = JSON.parse(await file.text())
  } catch {
    return wrong('it is not JSON')
  }
  const rounds = readConversation(value)
  if (typeof rounds === 'string') return wrong(rounds)
  return { rounds, shared: readShared((value as { readonly settings?: Json }).settings) }
}
