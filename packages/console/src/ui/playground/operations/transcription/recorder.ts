import { useEffect, useRef, useState } from 'preact/hooks'

export interface Recorder {
  /** False: the browser, or an address without HTTPS, has no microphone. */
  readonly isAvailable: boolean
  /** Seconds of the running recording; undefined: none runs. */
  readonly seconds: number | undefined
  /** Why the last recording failed. */
  readonly problem: string | undefined
  start(): void
  stop(): void
}

/** Types that browsers record, best first. */
const types = [
  ['audio/webm', 'webm'],
  ['audio/mp4', 'mp4'],
  ['audio/ogg', 'ogg'],
] as const

// Pages without HTTPS have no `mediaDevices`, whatever its type.
const devices = (): MediaDevices | undefined => navigator.mediaDevices as MediaDevices | undefined

/** Records from the microphone. */
export function useRecorder(onFile: (file: File) => void): Recorder {
  const [seconds, setSeconds] = useState<number>()
  const [problem, setProblem] = useState<string>()
  const running = useRef<MediaRecorder>(undefined)
  const latest = useRef(onFile)
  latest.current = onFile
  const isRunning = seconds !== undefined
  useEffect(() => {
    if (!isRunning) return undefined
    const timer = setInterval(() => setSeconds((before) => (before === undefined ? before : before + 1)), 1000)
    return () => clearInterval(timer)
  }, [isRunning])
  const stop = (): void => {
    if (running.current?.state === 'recording') running.current.stop()
  }
  // Leaving the tab ends the recording and keeps it.
  useEffect(() => stop, [])

  async function record(): Promise<void> {
    setProblem(undefined)
    try {
      const stream = await devices()?.getUserMedia({ audio: true })
      if (stream === undefined) return
      const [type, ending] = types.find(([name]) => MediaRecorder.isTypeSupported(name)) ?? ['', 'webm']
      const recorder = new MediaRecorder(stream, type === '' ? {} : { mimeType: type })
      const parts: Blob[] = []
      recorder.ondataavailable = ({ data }) => void parts.push(data)
      recorder.onstop = () => {
        for (const track of stream.getTracks()) track.stop()
        setSeconds(undefined)
        latest.current(new File(parts, `recording.${ending}`, { type: type || recorder.mimeType }))
      }
      running.current = recorder
      recorder.start()
      setSeconds(0)
    } catch (error) {
      const isDenied = error instanceof DOMException && error.name === 'NotAllowedError'
      const why = error instanceof Error ? error.message : String(error)
      setProblem(isDenied ? 'The browser did not allow the microphone.' : `The microphone could not be used: ${why}`)
    }
  }
  return {
    isAvailable: devices()?.getUserMedia !== undefined && typeof MediaRecorder === 'function',
    seconds,
    problem,
    start: () => void record(),
    stop,
  }
}
