import { spawn, spawnSync } from 'node:child_process'

export type Runner = 'curl' | 'sdk' | 'fetch' | 'python' | 'python-sdk'

/** Returns whether Python runs a code: `import openai`. */
export const canRunPython = (code: string): boolean => spawnSync('python3', ['-c', code]).status === 0

/** Creates functions that run code in a folder, with the token in its variable. Each resolves to the output. */
export function codeRunners(folder: string, token: string) {
  const run = (program: string, args: readonly string[], input: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { PATH = '', PYTHONPATH = '' } = process.env
      const child = spawn(program, args, { cwd: folder, env: { PATH, PYTHONPATH, MODELGATE_TOKEN: token } })
      let out = ''
      let wrong = ''
      child.stdout.on('data', (bytes) => {
        out += bytes
      })
      child.stderr.on('data', (bytes) => {
        wrong += bytes
      })
      child.on('error', reject)
      child.on('close', (code) =>
        code === 0 ? resolve(out) : reject(new Error(`${program} ended with ${code}: ${wrong}`)),
      )
      child.stdin.end(input)
    })
  const node = (code: string): Promise<string> => run(process.execPath, ['--input-type=module', '-'], code)
  const python = (code: string): Promise<string> => run('python3', ['-'], code)
  return {
    curl: (code: string) => run('sh', ['-e'], code),
    sdk: node,
    fetch: node,
    python,
    'python-sdk': python,
    /** For code that needs packages which are not installed. */
    compilePython: (code: string) =>
      run('python3', ['-c', 'import sys; compile(sys.stdin.read(), "code", "exec")'], code),
  }
}
