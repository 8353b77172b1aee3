import { fromBase64, toBase64 } from '../../../base/bytes.ts'
import { sealPrefix } from '../../../formats/shared/seals.ts'

/**
 * Seals of summaries that the gateway wrote in place of a provider. The client carries them, as it carries all seals, so that any upstream
 * can continue the conversation. The summary is encrypted and authenticated (AES-GCM) with the owner as associated data: other callers
 * can neither read a seal nor send it.
 *
 *     mgs1.modelgate.{base64 of nonce and ciphertext}
 */
const prefix = `${sealPrefix}modelgate.`
const nonceBytes = 12

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Returns whether a text is a seal of the gateway. */
export const isSummarySeal = (text: string): boolean => text.startsWith(prefix)

/**
 * Seals a summary for its owner.
 *
 * @param secret default: a random one of this process
 */
export async function sealSummary(text: string, owner: string, secret: string | undefined): Promise<string> {
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const encrypted = await crypto.subtle.encrypt(cipher(nonce, owner), await keyOf(secret), encoder.encode(text))
  const bytes = new Uint8Array(nonceBytes + encrypted.byteLength)
  bytes.set(nonce)
  bytes.set(new Uint8Array(encrypted), nonceBytes)
  return prefix + toBase64(bytes)
}

/** Opens a seal. Returns undefined if it was changed, belongs to another owner, or was not made with this secret. */
export async function openSummary(
  sealed: string,
  owner: string,
  secret: string | undefined,
): Promise<string | undefined> {
  const bytes = fromBase64(sealed.slice(prefix.length))
  if (bytes === undefined) return undefined
  const nonce = bytes.slice(0, nonceBytes)
  try {
    return decoder.decode(
      await crypto.subtle.decrypt(cipher(nonce, owner), await keyOf(secret), bytes.slice(nonceBytes)),
    )
  } catch {
    return undefined
  }
}

const cipher = (iv: Uint8Array<ArrayBuffer>, owner: string) => ({
  name: 'AES-GCM',
  iv,
  additionalData: encoder.encode(owner),
})

/** The keys of the secrets in use: nearly always one. */
const keys = new Map<string, Promise<CryptoKey>>()
const maxKeys = 16
let processKey: Promise<CryptoKey> | undefined

function keyOf(secret: string | undefined): Promise<CryptoKey> {
  if (secret === undefined) {
    processKey ??= importKey(crypto.getRandomValues(new Uint8Array(32)))
    return processKey
  }
  const known = keys.get(secret)
  if (known !== undefined) return known
  if (keys.size >= maxKeys) keys.clear()
  const key = createKey(secret)
  keys.set(secret, key)
  return key
}

async function createKey(secret: string): Promise<CryptoKey> {
  return importKey(await crypto.subtle.digest('SHA-256', encoder.encode(`modelgate compaction ${secret}`)))
}

const importKey = (key: BufferSource): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt'])
