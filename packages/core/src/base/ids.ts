const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const pool = new Uint8Array(4096)
let used = pool.length

const codes = Uint8Array.from(alphabet, (char) => char.charCodeAt(0))
const drawn = new Array<number>(22).fill(0)

/** A unique id: the prefix and 22 letters and digits (131 bits). Random bytes are drawn in bulk, which is what costs. */
export function newId(prefix: string): string {
  for (let left = drawn.length; left > 0; ) {
    if (used === pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const code = codes[(pool[used++] as number) & 63]
    // 64 values, 62 signs: the two too many are drawn again.
    if (code !== undefined) drawn[--left] = code
  }
  return prefix + String.fromCharCode(...drawn)
}
