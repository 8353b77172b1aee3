import { hashText } from '../base/random.ts'

/** Style of a provider's seals, so that one is never accepted as another's. */
export interface SealStyle {
  readonly kind: string
  wrap(payload: string): string
  /** Returns the wrapped text; empty or meaningless for a foreign seal. */
  unwrap(seal: string): string
}

/** Signs thinking and verifies it in the next turn, as the real providers do. */
export interface Seals {
  /** Returns an opaque text in the provider's style, bound to the given text. */
  sign(style: SealStyle, text: string): string
  /** Returns true if this provider made the seal for this text, or a script provided it. */
  verify(style: SealStyle, text: string, seal: string): boolean
  /** Returns the opaque data of redacted thinking. */
  redact(style: SealStyle): string
  verifyRedacted(style: SealStyle, data: string): boolean
  /** Makes a script's own seal valid for the next turn. */
  adopt(text: string, seal: string): void
  reset(): void
}

const secret = 0x5ea1

export function createSeals(nonce: () => string): Seals {
  const adopted = new Set<string>()
  const open = (style: SealStyle, seal: string): string[] => {
    try {
      return style.unwrap(seal).split(':')
    } catch {
      return []
    }
  }
  return {
    sign(style, text) {
      const once = nonce()
      return style.wrap(`fake-${style.kind}:${once}:${hashText(`${once}:${text}`, secret)}`)
    },
    verify(style, text, seal) {
      if (adopted.has(`${seal}:${text}`)) return true
      const [kind, once, hash] = open(style, seal)
      return kind === `fake-${style.kind}` && hash === hashText(`${once}:${text}`, secret)
    },
    redact(style) {
      const once = nonce()
      return style.wrap(`fake-redacted:${once}:${hashText(once, secret)}`)
    },
    verifyRedacted(style, data) {
      const [kind, once, hash] = open(style, data)
      return kind === 'fake-redacted' && hash === hashText(once ?? '', secret)
    },
    adopt: (text, seal) => void adopted.add(`${seal}:${text}`),
    reset: () => adopted.clear(),
  }
}

/** Returns a style of base64 after a prefix of a few bytes or letters. */
export function createSealStyle(kind: string, head: { readonly letters?: string; readonly bytes?: string }): SealStyle {
  const { letters = '', bytes = '' } = head
  return {
    kind,
    wrap: (payload) => letters + btoa(bytes + payload),
    unwrap(seal) {
      if (!seal.startsWith(letters)) return ''
      const inner = atob(seal.slice(letters.length))
      return inner.startsWith(bytes) ? inner.slice(bytes.length) : ''
    },
  }
}
