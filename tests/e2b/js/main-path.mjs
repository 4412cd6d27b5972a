// The main path of the JavaScript SDK: every step is checked here; a test in Python runs it and looks at the exit code.
import assert from 'node:assert/strict'
import { CommandExitError, NotFoundError, Sandbox, SandboxNotFoundError, Template, TimeoutError } from 'e2b'

const bootId = '/proc/sys/kernel/random/boot_id'
const made = []
const step = (text) => console.log(text)

async function create(...options) {
  const sandbox = await Sandbox.create(...options)
  made.push(sandbox.sandboxId)
  return sandbox
}

async function all(paginator) {
  const found = []
  while (paginator.hasNext) found.push(...(await paginator.nextItems()))
  return found
}

try {
  step('create')
  const metadata = { run: crypto.randomUUID(), 'a b': 'c&d=é' }
  const sandbox = await create('base', { timeoutMs: 300_000, metadata, envs: { COLOUR: 'green' } })
  const info = await sandbox.getInfo()
  assert.equal(info.state, 'running')
  assert.deepEqual(info.metadata, metadata)
  assert.equal(await sandbox.isRunning(), true)

  step('list')
  const listed = await all(Sandbox.list({ query: { metadata, state: ['running', 'paused'] }, limit: 1 }))
  assert.deepEqual(listed.map((each) => each.sandboxId), [sandbox.sandboxId])

  step('commands')
  let streamed = ''
  const result = await sandbox.commands.run('echo $COLOUR; whoami; pwd', { onStdout: (text) => { streamed += text } })
  assert.equal(result.stdout, 'green\nuser\n/home/user\n')
  assert.equal(streamed, result.stdout)
  await assert.rejects(sandbox.commands.run('exit 7'), (error) => error instanceof CommandExitError && error.exitCode === 7)
  await assert.rejects(sandbox.commands.run('sleep 100', { timeoutMs: 500 }), TimeoutError)
  const waiting = await sandbox.commands.run('read line; echo got $line', { background: true, stdin: true })
  await sandbox.commands.sendStdin(waiting.pid, 'hello\n')
  assert.equal((await waiting.wait()).stdout, 'got hello\n')
  const counting = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
  assert((await sandbox.commands.list()).some((each) => each.pid === counting.pid))

  step('terminal')
  let screen = ''
  const terminal = await sandbox.pty.create({ rows: 24, cols: 80, onData: (data) => { screen += Buffer.from(data).toString() } })
  await sandbox.pty.resize(terminal.pid, { rows: 30, cols: 101 })
  await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("tput cols; echo do''ne; exit 0\n"))
  await terminal.wait()
  assert.match(screen, /101\r\n/)
  assert.match(screen, /done\r\n/)

  step('files')
  const noise = crypto.getRandomValues(new Uint8Array(60_000))
  await sandbox.files.write('deep/noise.bin', noise.buffer)
  assert.deepEqual(await sandbox.files.read('deep/noise.bin', { format: 'bytes' }), noise)
  await sandbox.files.write([{ path: 'one.txt', data: '1' }, { path: 'two.txt', data: '2' }])
  await sandbox.files.write('empty', '')
  assert.equal(await sandbox.files.read('empty'), '')
  assert.equal(await sandbox.files.exists('one.txt'), true)
  assert.equal((await sandbox.files.rename('one.txt', 'moved/one.txt')).path, '/home/user/moved/one.txt')
  assert.equal(await sandbox.files.makeDir('moved'), false)
  await sandbox.files.remove('two.txt')
  const names = (await sandbox.files.list('.')).map((each) => each.name)
  assert(names.includes('moved') && !names.includes('two.txt'))
  await assert.rejects(sandbox.files.read('none'), NotFoundError)
  const download = await fetch(await sandbox.downloadUrl('moved/one.txt', { useSignatureExpiration: 60 }))
  assert.equal(await download.text(), '1')

  step('watch')
  const events = []
  const three = new Promise((resolve) => {
    sandbox.files.watchDir('moved', (event) => { if (events.push(event.type) === 3) resolve() })
      .then(() => sandbox.files.write('moved/new', 'x'))
  })
  await three
  assert.deepEqual(events, ['create', 'chmod', 'write'])

  step('pause and connect')
  const boot = await sandbox.files.read(bootId)
  assert.equal(await sandbox.pause(), true)
  assert.equal(await sandbox.pause(), false)
  assert.equal((await sandbox.getInfo()).state, 'paused')
  await Sandbox.connect(sandbox.sandboxId)
  assert.equal(await sandbox.files.read(bootId), boot)
  assert((await sandbox.commands.list()).some((each) => each.pid === counting.pid))
  await sandbox.setTimeout(600_000)

  step('metrics, network')
  assert(Array.isArray(await sandbox.getMetrics()))
  await sandbox.updateNetwork({ denyOut: ['0.0.0.0/0'] })
  assert.equal((await sandbox.getInfo()).allowInternetAccess, false)

  step('snapshot and fork')
  const snapshot = await sandbox.createSnapshot({ name: `js-${metadata.run.slice(0, 8)}` })
  const copy = await create(snapshot.snapshotId)
  assert.equal(await copy.files.read('moved/one.txt'), '1')
  assert.equal((await all(sandbox.listSnapshots())).length, 1)
  assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true)
  assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), false)
  const forks = await sandbox.fork({ count: 2 })
  for (const fork of forks) made.push(fork.sandboxId)
  assert.equal(await forks[1].files.read('moved/one.txt'), '1')

  step('auto-resume')
  const sleeper = await create({ timeoutMs: 300_000, lifecycle: { onTimeout: 'pause', autoResume: true } })
  await sleeper.pause()
  assert.equal((await sleeper.commands.run('echo awake')).stdout, 'awake\n')

  step('templates')
  assert.equal(await Template.exists('base'), true)
  assert.equal(await Template.exists('none-such'), false)

  step('kill')
  const running = sandbox.commands.run('sleep 1000', { timeoutMs: 0 })
  const cut = assert.rejects(running)
  while (!(await sandbox.commands.list()).some((each) => each.args.includes('sleep 1000') && each.pid !== counting.pid)) {}
  assert.equal(await sandbox.kill(), true)
  await cut
  assert.equal(await sandbox.kill(), false)
  assert.equal(await sandbox.isRunning(), false)
  await assert.rejects(sandbox.getInfo(), SandboxNotFoundError)
  await assert.rejects(Sandbox.connect(sandbox.sandboxId), SandboxNotFoundError)
  step('done')
} finally {
  await Promise.all(made.map((id) => Sandbox.kill(id)))
}
process.exit(0)
