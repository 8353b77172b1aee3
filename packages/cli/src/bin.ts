import { relative } from 'node:path'
import { main } from './main.ts'

// The reader of the output can exit first (`modelgate | tee log` and Ctrl-C). In-flight calls are still completed.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

main(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  isTerminal: process.stdout.isTTY === true,
  command: commandOf(process.argv[1] ?? ''),
  out: (text) => void process.stdout.write(`${text}\n`),
  err: (text) => void process.stderr.write(`${text}\n`),
}).then((code) => {
  // Without an exit code the server is running.
  if (code !== undefined) process.exitCode = code
})

/** Returns the command that started this program, for lines to paste. npm links it into `.bin`; pnpm runs it by its path in the project. */
function commandOf(script: string): string {
  if (/[\\/]node_modules[\\/](\.bin|modelgate[\\/]bin)[\\/]/.test(script)) return 'npx modelgate'
  if (/[\\/]modelgate$/.test(script)) return 'modelgate'
  return `node ${relative(process.cwd(), script)}`
}
