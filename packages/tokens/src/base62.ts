const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A number in letters and digits, the least significant at the end, padded with `0` to a width. */
export function base62(number: bigint, width: number): string {
  let rest = number
  let text = ''
  for (let at = 0; at < width; at++) {
    text = alphabet.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

/** Bytes as one number in letters and digits. */
export const base62Of = (bytes: Buffer, width: number): string => base62(BigInt(`0x${bytes.toString('hex')}`), width)
