import { describe, expect, it } from 'vitest'
import { fetchTransport } from '../http/fetch-transport.ts'
import type { TransportResponse } from '../http/transport.ts'
import { awaitFirstChunk, bodyHeaders, isJson, lengthOf } from './response-body.ts'

const answering = (headers: Readonly<Record<string, string>>): TransportResponse => ({
  status: 200,
  header: (name) => headers[name],
  bytes: async () => new Uint8Array(0),
  async *stream() {},
  discard() {},
})

describe('the length of bytes that pass as they are', () => {
  it.each([
    ['is that of the upstream', { 'content-length': '12' }, 12],
    ['is unknown without one', {}, undefined],
    [
      'is that of the upstream where nothing is encoded',
      { 'content-length': '12', 'content-encoding': 'identity' },
      12,
    ],
    ['is unknown of an encoded body', { 'content-length': '12', 'content-encoding': 'gzip' }, undefined],
    ['is unknown of several', { 'content-length': '12, 13' }, undefined],
    ['is unknown of what is no number', { 'content-length': '1e3' }, undefined],
    ['is unknown of a negative one', { 'content-length': '-1' }, undefined],
  ] as [string, Record<string, string>, number | undefined][])('%s', (_, headers, length) => {
    expect(lengthOf(answering(headers))).toBe(length)
    expect(bodyHeaders(answering(headers), length)['content-length']).toBe(length?.toString())
  })

  it.each(['content-length', 'content-encoding', 'transfer-encoding'])(
    'is not taken from fetch, which undoes encodings: %s is not handed on',
    async (name) => {
      const transport = fetchTransport(async () => new Response('abc', { headers: { [name]: '3', 'x-own': 'y' } }))
      const response = await transport({
        url: 'http://up.test',
        method: 'GET',
        headers: {},
        signal: AbortSignal.any([]),
      })
      expect([response.header(name), response.header('x-own')]).toEqual([undefined, 'y'])
    },
  )
})

describe('the content type of bytes that pass as they are', () => {
  it.each([
    ['audio/mpeg', 'audio/mpeg'],
    ['text/vtt; charset=utf-8', 'text/vtt; charset=utf-8'],
    ['Audio/MPEG', 'Audio/MPEG'],
    ['audio/mpeg\r\nx-evil: 1', 'application/octet-stream'],
    ['audio/mpeg; a=\u0001', 'application/octet-stream'],
    ['audio/mpeg; a=ä', 'application/octet-stream'],
    ['nonsense', 'application/octet-stream'],
    ['', 'application/octet-stream'],
    [`audio/${'x'.repeat(500)}`, 'application/octet-stream'],
  ])('%j is passed on as %j, and browsers are told not to guess', (given, passed) => {
    expect(bodyHeaders(answering({ 'content-type': given }), undefined)).toEqual({
      'content-type': passed,
      'x-content-type-options': 'nosniff',
    })
  })

  it('is compared without regard to case', async () => {
    expect(isJson(answering({ 'content-type': 'Application/JSON' }))).toBe(true)
    await expect(awaitFirstChunk(answering({ 'content-type': 'TEXT/HTML' }), 'any')).rejects.toMatchObject({
      info: { kind: 'upstream_bad_response' },
    })
  })
})
