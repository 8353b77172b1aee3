import { generateKeyPairSync, sign } from 'node:crypto'

// Minimal DER encoder: a key generated for the run is safer than one that is stored in a file.

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts)
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const integer = (value: number): Buffer => der(0x02, Buffer.from([value]))
const bits = (value: Uint8Array): Buffer => der(0x03, Buffer.from([0]), value)
const time = (year: number): Buffer => der(0x17, Buffer.from(`${String(year % 100).padStart(2, '0')}0101000000Z`))
const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
const commonName = Buffer.from('550403', 'hex')
const named = (name: string): Buffer =>
  sequence(der(0x31, sequence(der(0x06, commonName), der(0x0c, Buffer.from(name)))))

/** Creates a self-signed certificate and its key as PEM, valid until the end of next year. */
export function selfSigned(name: string): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const year = new Date().getUTCFullYear()
  const content = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    named(name),
    sequence(time(year), time(year + 2)),
    named(name),
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const whole = sequence(content, ecdsaWithSha256, bits(sign('sha256', content, privateKey)))
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}
