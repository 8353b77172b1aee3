import { spellings as common } from '../secrets/leaks.ts'

const urlEncodedTwice = (secret: string): string => encodeURIComponent(encodeURIComponent(secret))
const lowerEscapes = (text: string): string => text.replaceAll(/%(?:25)*[0-9A-F]{2}/g, (code) => code.toLowerCase())
const hex = (secret: string): string => Buffer.from(secret).toString('hex')

/** Every way in which an upstream may write down a secret. */
export const spellings: Readonly<Record<string, (secret: string) => string>> = {
  ...common,
  'as a Basic login': (secret) => `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
  'URL-encoded in lower case': (secret) => lowerEscapes(encodeURIComponent(secret)),
  'URL-encoded twice': urlEncodedTwice,
  'URL-encoded twice in lower case': (secret) => lowerEscapes(urlEncodedTwice(secret)),
  hex,
  'hex in capitals': (secret) => hex(secret).toUpperCase(),
}
