import { describe, expect, it, test, vi } from 'vitest'
import { type AwsCredentials, signCalls } from './sign.ts'

// The credentials and the time of AWS's published examples.
const key = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const moment = Date.parse('2015-08-30T12:36:00Z')
const now = () => moment
const bedrock = 'https://bedrock-runtime.us-east-1.amazonaws.com/model'
const call = { method: 'POST', url: `${bedrock}/m/converse`, headers: {}, body: '{}' }

describe('signatures', () => {
  it.each([
    // From get-vanilla and post-vanilla of AWS's test suite for Signature Version 4.
    [
      'service',
      'GET',
      'https://example.amazonaws.com/',
      undefined,
      '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    ],
    [
      'service',
      'POST',
      'https://example.amazonaws.com/',
      undefined,
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ],
    // Created by AWS's own signer, @smithy/signature-v4 5.7.5.
    [
      'bedrock',
      'POST',
      `${bedrock}/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke`,
      '{"a":"ü"}',
      '45de01527e9a141f45614f782b27a1a7216e7df630a5f8979896dffe3b79b251',
    ],
    [
      'bedrock-mantle',
      'POST',
      'https://bedrock-mantle.us-east-1.api.aws/v1/responses',
      '{}',
      '43268940132ea92cdf97429817c33c24dcf041935120c544c6644e539457624e',
    ],
  ])('for %s, %s %s match those of AWS', async (service, method, url, body, signature) => {
    const sign = signCalls(key, { region: 'us-east-1', service, now })
    const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity', accept: '*/*' }
    for (const form of [body, body === undefined ? undefined : new TextEncoder().encode(body)])
      expect(await sign({ method, url, headers, body: form })).toEqual({
        authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/${service}/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
        'x-amz-date': '20150830T123600Z',
      })
  })

  test('of temporary credentials include the session token, for a model named by ARN', async () => {
    const sign = signCalls(
      { ...key, sessionToken: 'TOKEN/with+chars==' },
      { region: 'us-east-1', service: 'bedrock', now },
    )
    const arn = 'arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.amazon.nova-lite-v1%3A0'
    const signed = await sign({ ...call, url: `${bedrock}/${arn}/converse-stream`, body: '{"messages":[]}' })
    expect(signed['x-amz-security-token']).toBe('TOKEN/with+chars==')
    expect(signed.authorization).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token, ')
    expect(signed.authorization).toContain('bd45cdeeb3966fb143fc46e30493f6ea158a2c70a2a22c1031bb4727d1d09154')
  })

  test('cover the x-amz headers of a call', async () => {
    const sign = signCalls(key, { region: 'us-east-1', service: 'bedrock', now })
    const { authorization } = await sign({ ...call, headers: { 'x-amz-meta': 'a', accept: '*/*' } })
    expect(authorization).toContain('SignedHeaders=host;x-amz-date;x-amz-meta,')
  })
})

describe('credentials', () => {
  const options = { region: 'us-east-1', service: 'bedrock' }

  test('from a function are requested for each call, once for concurrent calls', async () => {
    const ask = vi.fn(async (): Promise<AwsCredentials> => key)
    const sign = signCalls(ask, { ...options, now })
    await Promise.all([sign(call), sign(call)])
    expect(ask).toHaveBeenCalledTimes(1)
    await sign(call)
    expect(ask).toHaveBeenCalledTimes(2)
  })

  test('are cached until five minutes before they expire', async () => {
    let time = moment
    const ask = vi.fn(() => ({ ...key, expiration: new Date(time + 3_600_000) }))
    const sign = signCalls(ask, { ...options, now: () => time })
    await sign(call)
    time += 54 * 60_000
    await sign(call)
    expect(ask).toHaveBeenCalledTimes(1)
    time += 60_000
    await sign(call)
    expect(ask).toHaveBeenCalledTimes(2)
  })

  test('are requested again after a failure', async () => {
    const ask = vi.fn(async (): Promise<AwsCredentials> => key)
    ask.mockRejectedValueOnce(new Error('no role'))
    const sign = signCalls(ask, options)
    await expect(sign(call)).rejects.toThrow('no role')
    expect(await sign(call)).toHaveProperty('authorization')
  })

  it.each([[{}], [{ accessKeyId: 'a' }], [{ accessKeyId: 'a', secretAccessKey: '' }]])(
    'like %j are rejected as missing',
    async (none) => {
      expect(() => signCalls(none as AwsCredentials, options)).toThrow(/AWS credentials have no/)
      await expect(signCalls(() => none as AwsCredentials, options)(call)).rejects.toThrow(/AWS credentials have no/)
    },
  )

  test('cause an error that names the missing package', async () => {
    vi.resetModules()
    vi.doMock('aws4fetch', () => {
      throw new Error('Cannot find package')
    })
    const { signCalls: sign } = await import('./sign.ts')
    await expect(sign(key, options)(call)).rejects.toThrow(/npm install aws4fetch/)
    vi.doUnmock('aws4fetch')
  })
})
