import { relative } from 'node:path'
import { main } from './main.ts'

// Whoever reads what it says may go (`modelgate | tee log`, and Ctrl-C): the running calls are answered all the same.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

main(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  command: commandOf(process.argv[1] ?? ''),
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
}).then((code) => {
  // Without a code it serves.
  if (code !== undefined) process.exitCode = code
})

/** How this program was called, for lines to paste: npm links it into `.bin`, pnpm calls it by its path in the project. */
function commandOf(script: string): string {
  if (/[\\/]node_modules[\\/](\.bin|modelgate[\\/]bin)[\\/]/.test(script)) return 'npx modelgate'
  if (/[\\/]modelgate$/.test(script)) return 'modelgate'
  return `node ${relative(process.cwd(), script)}`
}
