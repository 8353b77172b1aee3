import { chat } from '../formats/chat.ts'
import type { Json } from '../formats/format.ts'
import { errorPiece, listOf, objectOf, textOf } from '../formats/read.ts'
import { credentialOf } from './send.ts'

export type Checked =
  | { readonly state: 'unchecked' | 'checking' }
  | { readonly state: 'good'; readonly models: readonly string[] }
  /** The API's own message, if any. */
  | { readonly state: 'bad'; readonly message: string; readonly status: number | undefined }

/** Fetches the models that a token may use. Never rejects. */
export async function checkToken(gateway: string, token: string): Promise<Checked> {
  if (!/^[\x21-\x7e]*$/.test(token))
    return { state: 'bad', message: 'This holds signs that no token has: paste it once more.', status: undefined }
  try {
    const response = await fetch(`${gateway}/v1/models`, { headers: credentialOf(chat, token), cache: 'no-store' })
    const { status, ok } = response
    const body: Json = await response.json().catch(() => null)
    if (ok)
      return {
        state: 'good',
        models: listOf(objectOf(body).data)
          .map(({ id }) => textOf(id))
          .filter(Boolean),
      }
    const told = errorPiece(body, `The gateway answered ${status}.`)
    return { state: 'bad', message: told.type === 'error' ? told.message : '', status }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { state: 'bad', message: `The gateway could not be reached: ${why}`, status: undefined }
  }
}
