import { hashText } from './random.ts'

/** Signs thinking and recognises it again on the next turn, as the real provider does. */
export interface Seals {
  /** Looks like the real thing: base64 that begins with `E`, opaque, and bound to the text it was made for. */
  sign(text: string): string
  /** Whether this provider made the signature for this very text (or a script made it up for it). */
  verify(text: string, signature: string): boolean
  /** The opaque data of a redacted thinking block. */
  redact(): string
  verifyRedacted(data: string): boolean
  /** Makes a signature that a script invented good for the next turn. */
  adopt(text: string, signature: string): void
  reset(): void
}

const secret = 0x5ea1

export function createSeals(nonce: () => string): Seals {
  const adopted = new Set<string>()
  return {
    sign(text) {
      const once = nonce()
      return seal(`fake-thinking:${once}:${hashText(`${once}:${text}`, secret)}`)
    },
    verify(text, signature) {
      if (adopted.has(`${signature}:${text}`)) return true
      const [kind, once, hash] = unseal(signature).split(':')
      return kind === 'fake-thinking' && hash === hashText(`${once}:${text}`, secret)
    },
    redact() {
      const once = nonce()
      return seal(`fake-redacted:${once}:${hashText(once, secret)}`)
    },
    verifyRedacted(data) {
      const [kind, once, hash] = unseal(data).split(':')
      return kind === 'fake-redacted' && hash === hashText(once ?? '', secret)
    },
    adopt: (text, signature) => void adopted.add(`${signature}:${text}`),
    reset: () => adopted.clear(),
  }
}

const seal = (text: string): string => `E${btoa(text)}`

function unseal(text: string): string {
  try {
    return text.startsWith('E') ? atob(text.slice(1)) : ''
  } catch {
    return ''
  }
}
