import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withProcessLock } from '../base/process-lock.mjs'
import { type PackedRegistry, packedRegistry } from './registry.mjs'

describe('the registry of tarballs', () => {
  let registry: PackedRegistry
  beforeAll(async () => {
    registry = await packedRegistry()
  })
  afterAll(() => registry.close())

  it.each(['@modelgate%2fcore', '@modelgate/core', 'modelgate'])(
    'has %s, with a tarball that is what it says',
    async (path) => {
      const packument = await (await fetch(`${registry.url}/${path}`)).json()
      const { name, dist } = packument.versions[packument['dist-tags'].latest]
      expect(name).toBe(decodeURIComponent(path))
      const bytes = Buffer.from(await (await fetch(dist.tarball)).arrayBuffer())
      expect(dist.integrity).toBe(`sha512-${createHash('sha512').update(bytes).digest('base64')}`)
    },
  )

  it.each(['GET', 'POST'])('redirects %s of other packages to the configured registry', async (method) => {
    const { status, headers } = await fetch(`${registry.url}/express?a=b`, { method, redirect: 'manual' })
    expect(status).toBe(307)
    expect(headers.get('location')).toMatch(/^https?:\/\/.+[^/]\/express\?a=b$/)
  })
})

describe('the lock between processes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-lock-'))
  const lock = join(folder, 'lock')
  afterAll(() => rmSync(folder, { recursive: true }))

  it('waits for the holder, and reports that', async () => {
    const did: string[] = []
    let finish = (): void => {}
    const first = withProcessLock(lock, async () => {
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      did.push('first')
    })
    const second = withProcessLock(
      lock,
      async () => void did.push('second'),
      (holder) => {
        did.push(`waits for ${holder}`)
        finish()
      },
    )
    await Promise.all([first, second])
    expect(did).toEqual([`waits for ${process.pid}`, 'first', 'second'])
    expect(existsSync(lock)).toBe(false)
  })

  it('is taken over from a dead process', async () => {
    writeFileSync(lock, String(spawnSync(process.execPath, ['--version']).pid))
    expect(await withProcessLock(lock, async () => 'done')).toBe('done')
  })

  it('is released after a failure', async () => {
    await expect(withProcessLock(lock, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(existsSync(lock)).toBe(false)
  })
})
