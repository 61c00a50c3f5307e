"""Every file in cluster_configs starts a cluster that searches, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import importlib.util
import os
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path

import asyncssh
import dask_kubernetes
import jsonschema
import kubernetes.client
import numpy as np
import psutil
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from dask_kubernetes.operator.controller import controller as operator
from distributed import Client, Security
from packaging.requirements import Requirement

import daskbfs
from tests.support import ROOT
from tests.support.crew import until

pytestmark = pytest.mark.usefixtures("on_the_cluster")

HERE = ROOT / "tests" / "support"
CONFIGS = ROOT / "cluster_configs"
BIN = Path(sys.executable).parent
MARK = "CLUSTER_UNDER_TEST"
CPU, EMULATED = "cpu", "gpu-emulated"
SMALL_JOB = ("--cores", "1", "--memory", "1G", "--port", "0", "--dashboard", "127.0.0.1:0")


def marked(mark):
    """Processes with a mark in their environment, which child processes inherit."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found


class Started:
    """A cluster that a file started, with whatever processes came of it."""

    def __init__(self, folder, words, environment=()):
        self.mark = uuid.uuid4().hex
        self.log = folder / f"{Path(words[0]).name}.log"
        self.environment = os.environ | {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "DASHBOARD": "127.0.0.1:0",
            MARK: self.mark,
        }
        self.environment.update(environment)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.command(*words),
                cwd=folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that Ctrl-C reaches all of it, as in a shell
            )

    @staticmethod
    def command(file, *words):
        path = CONFIGS / file
        return [*([sys.executable] if path.suffix == ".py" else []), str(path), *map(str, words)]

    def processes(self):
        """Processes that this cluster started, and what they started, wherever they are now."""
        return marked(self.mark)

    def told(self):
        return self.log.read_text()

    def address(self):
        """Where its scheduler is, once the file has printed it."""

        def told():
            assert self.process.poll() is None, self.told()
            return re.search(r"^scheduler at (tcp://\S+),", self.told(), re.MULTILINE)

        until(told, 60)
        return told()[1]

    def stop(self, number=signal.SIGTERM, whole_group=False):
        """Ask it to end, and see that it does, with all its processes."""
        assert len(self.processes()) > 1, self.told()
        send = os.killpg if whole_group else os.kill
        send(self.process.pid, number)
        assert self.process.wait(timeout=30) == 0, self.told()
        until(lambda: not self.processes(), 10)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in self.processes():  # of a test that failed
            with contextlib.suppress(psutil.Error):
                process.kill()
        self.process.wait(timeout=10)


def connected(n_workers, address=None, **options):
    """A client of a cluster, once that has so many workers."""
    client = Client(address, timeout=60, set_as_default=False, **options)
    if n_workers:
        client.wait_for_workers(n_workers, timeout=60)
    return client


def searches(client, devices):
    """The cluster has such workers, set as daskbfs wants them, our page, and valid searches."""
    known = client.scheduler_info(n_workers=-1)
    for worker in known["workers"].values():
        assert worker["nthreads"] == 1
        assert not worker["memory_limit"]
    page = f"http://127.0.0.1:{known['services']['dashboard']}/bfs"
    with urllib.request.urlopen(page, timeout=30) as answer:
        assert answer.status == 200
    graph = daskbfs.kronecker(6 if EMULATED in devices else 8)  # emulated GPUs are slow
    placed = daskbfs.distribute(graph, client)
    assert sorted(placed.devices().values()) == devices
    source = int(graph.random_sources(1)[0])
    result = daskbfs.bfs(placed, source)
    daskbfs.validate(graph, source, result.parent, result.level)
    assert np.array_equal(result.level, daskbfs.bfs(graph, source, driver="direct").level)


def from_file(folder, n_workers, name="scheduler.json", **options):
    """A client of the cluster whose scheduler writes a file."""
    file = folder / name
    until(file.exists, 60)
    return connected(n_workers, scheduler_file=str(file), **options)


def refused(*words, environment=()):
    """What a file says, in one line, instead of starting anything."""
    done = subprocess.run(
        Started.command(*words),
        env=os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"} | dict(environment),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (1, 2), done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith(f"{words[0]}: ")
    return done.stderr


# All of them


def test_every_file_has_a_test_and_says_when_to_use_it():
    tested = Path(__file__).read_text()
    files = sorted(path for path in CONFIGS.iterdir() if path.is_file())
    assert len(files) >= 7
    for path in files:
        assert f'"{path.name}"' in tested, f"{path.name} has no test"
        if path.suffix == ".py":
            head = re.search(r'"""(.*?)"""', path.read_text(), re.DOTALL)[1]
        else:
            head = re.match(r"(#.*\n)+", path.read_text())[0]
        assert len(head.splitlines()) >= 3, path.name
        assert f"cluster_configs/{path.name}" in head, path.name
        assert "lients connect" in head or "--scheduler" in head, path.name
        executable = path.suffix != ".yaml"
        assert os.access(path, os.X_OK) is executable, path.name
        assert path.read_text().startswith("#!") is executable, path.name


@pytest.mark.parametrize("script", sorted(path.name for path in CONFIGS.glob("*.sh")))
def test_shell_scripts_are_free_of_mistakes_that_bash_can_see(script):
    subprocess.run(["bash", "-n", CONFIGS / script], check=True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["local.sh", "none"], "WORKERS a number from 1 on"),
        (["local.sh", "1", "file", "more"], "usage"),
        (["hybrid_node.sh", "0"], "CPU_WORKERS from 1 on"),
        (["hybrid_node.sh", "1", "some"], "EMULATED_GPUS from 0 on"),
        (["multi_gpu.sh", "--help"], "usage"),
        (["tls.sh", "-1"], "WORKERS a number from 1 on"),
        (["ssh.py", "alone"], "required: WORKER_HOST"),
        (["ssh.py", "a", "b", "--ssh-config", "nowhere"], "nowhere: there is no such file"),
        (["slurm.py", "--memory", "1G"], "required: --cores"),
        (["slurm.py", "--cores", "0", "--memory", "1G"], "'0' is not a whole number from 1 on"),
        (["slurm.py", "--cores", "1", "--memory", "lots"], "'lots' is not how SLURM writes"),
        (["slurm.py", *SMALL_JOB], "sbatch is not on the PATH"),
    ],
)
def test_mistakes_are_told_in_one_line(words, told, tmp_path):
    folders = os.environ["PATH"].split(os.pathsep)  # without SLURM, should it be here
    path = os.pathsep.join(folder for folder in folders if not (Path(folder) / "sbatch").exists())
    assert told in refused(*words, environment={"PATH": f"{BIN}:{path}"})


# This machine


@pytest.mark.parametrize(
    ("words", "devices", "ctrl_c"),
    [
        (["local.sh", 2], [CPU, CPU], True),
        (["hybrid_node.sh", 1, 1], [CPU, EMULATED], False),
    ],
)
def test_clusters_on_this_machine_search_and_leave_nothing_behind(tmp_path, words, devices, ctrl_c):
    (tmp_path / "scheduler.json").write_text('{"address": "tcp://127.0.0.1:9"}')  # of one long gone
    with Started(tmp_path, words) as cluster:
        until(lambda: ":9" not in _read(tmp_path / "scheduler.json"), 60)
        with from_file(tmp_path, len(devices)) as client:
            assert client.scheduler.address.startswith("tcp://127.0.0.1:")
            searches(client, devices)
        if ctrl_c:
            cluster.stop(signal.SIGINT, whole_group=True)
        else:
            cluster.stop()
    assert not (tmp_path / "scheduler.json").exists()


def _read(file):
    return file.read_text() if file.exists() else ":9"


def test_a_local_cluster_ends_with_its_scheduler(tmp_path):
    with Started(tmp_path, ["local.sh"]) as cluster, from_file(tmp_path, 1) as client:
        client.shutdown()
        cluster.process.wait(timeout=30)
        until(lambda: not cluster.processes(), 10)


# TLS


def certificates(folder):
    return Security(
        tls_ca_file=str(folder / "ca.pem"),
        tls_client_cert=str(folder / "cert.pem"),
        tls_client_key=str(folder / "key.pem"),
        require_encryption=True,
    )


def talk_without_certificate(address, ca):
    """What a client without a certificate can do that trusts the scheduler."""
    context = ssl.create_default_context(cafile=ca)
    context.check_hostname = False
    host, port = address.removeprefix("tls://").split(":")
    with (
        socket.create_connection((host, int(port)), timeout=10) as plain,
        context.wrap_socket(plain) as encrypted,
    ):
        encrypted.recv(1)


def test_a_tls_cluster_searches_for_those_with_a_certificate_only(tmp_path):
    folder = tmp_path / "keys"
    with Started(tmp_path, ["tls.sh", 2, folder], {"PORT": "0"}) as cluster:
        with from_file(folder, 2, security=certificates(folder)) as client:
            address = client.scheduler.address
            workers = client.scheduler_info(n_workers=-1)["workers"]
            assert {place.split(":")[0] for place in [address, *workers]} == {"tls"}
            searches(client, [CPU, CPU])
        begins = time.monotonic()
        for url, security in (
            (address, None),  # without certificates
            (address, Security.temporary()),  # with those of another CA
            (address.replace("tls", "tcp"), None),  # not encrypted
        ):
            with pytest.raises((OSError, TypeError)):
                Client(url, security=security, timeout=10, set_as_default=False)
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"):
            talk_without_certificate(address, folder / "ca.pem")
        assert time.monotonic() - begins < 20, "refused, not waited for"
        shown = re.findall(r"export (\S+)=\"(.*)\"", cluster.told())
        done = subprocess.run(
            [BIN / "daskbfs", "run", "kron:8", "--validate", "--scheduler", address],
            env=os.environ | dict(shown),
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        cluster.stop()
    assert {p.name for p in folder.iterdir()} == {"ca.pem", "cert.pem", "key.pem"}, "no CA's key"
    assert (folder / "key.pem").stat().st_mode & 0o077 == 0, "for its owner only"
    before = (folder / "key.pem").read_bytes()
    with Started(tmp_path, ["tls.sh", 1, folder], {"PORT": "0"}) as again:
        until(lambda: "daskbfs run" in again.told())
        again.stop()
    assert (folder / "key.pem").read_bytes() == before


def test_certificates_that_cannot_be_used_are_told(tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "old")])
    new = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    begins, ends = (datetime.now(UTC) - timedelta(days=days) for days in (2, 1))
    signed = new.not_valid_before(begins).not_valid_after(ends).sign(key, hashes.SHA256())
    (tmp_path / "cert.pem").write_bytes(signed.public_bytes(Encoding.PEM))
    assert "ca.pem is missing" in refused("tls.sh", 1, tmp_path)
    for file in ("ca.pem", "key.pem"):
        (tmp_path / file).write_bytes(b"")
    assert "cert.pem has expired" in refused("tls.sh", 1, tmp_path)


# SSH


class SSHServer:
    """A server on 127.0.0.1 that runs commands in a shell and, as sshd does, passes signals on."""

    def __init__(self, folder, environment=()):
        self.folder = folder
        self.environment = os.environ | dict(environment)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.commands = []
        self.server = None

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    def __enter__(self):
        host, user = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
        user.write_private_key(self.folder / "user_key")
        user.write_public_key(self.folder / "authorized_keys")
        self.thread.start()
        self.server = self._do(self._listen(host))
        port = self.server.get_port()
        public = host.export_public_key().decode()
        (self.folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
        self.config = self.folder / "ssh_config"
        self.config.write_text(
            f"Host *\n  Port {port}\n  User stranger\n  IdentityFile {self.folder}/user_key\n"
            f"  UserKnownHostsFile {self.folder}/known_hosts\n"
        )
        return self

    async def _listen(self, host_key):
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[host_key],
            authorized_client_keys=str(self.folder / "authorized_keys"),
            process_factory=self._run,
            encoding=None,
        )

    async def _run(self, process):
        """One command, in a process group of its own, until it ends or the client kills it."""
        self.commands.append(process.command)
        child = await asyncio.create_subprocess_shell(
            process.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,
        )
        listening = asyncio.create_task(self._pass_signals_on(process, child))
        # all of it before the channel is closed: asyncssh drops the connection of a late word
        await asyncio.gather(
            self._pass_on(child.stdout, process.stdout), self._pass_on(child.stderr, process.stderr)
        )
        listening.cancel()
        process.exit(await child.wait())

    @staticmethod
    async def _pass_on(reader, writer):
        while told := await reader.read(2**16):
            with contextlib.suppress(OSError):  # the client has gone, and the command is ending
                writer.write(told)
                await writer.drain()

    async def _pass_signals_on(self, process, child):
        while not process.stdin.at_eof():
            try:
                await process.stdin.read()
            except asyncssh.SignalReceived as sent:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, getattr(signal, f"SIG{sent.signal}"))

    async def _close(self):
        self.server.close()
        await self.server.wait_closed()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def __exit__(self, *exception):
        self._do(self._close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        self.loop.close()


def check_ssh(folder, devices, *options, environment=()):
    hosts = ["127.0.0.1"] * (1 + len(devices) if not options else 2)
    with SSHServer(folder, environment) as server:
        words = [*hosts, "--ssh-config", server.config, "--port", 0, "--dashboard", "127.0.0.1:0"]
        with Started(folder, ["ssh.py", *words, *options]) as cluster:
            server.environment[MARK] = cluster.mark
            with connected(len(devices), cluster.address()) as client:
                searches(client, devices)
            there = [command for command in server.commands if "dask_spec" in command]
            assert len(there) == len(hosts)
            assert len(cluster.processes()) > len(hosts), "those behind SSH are seen, too"
            cluster.stop()


def test_an_ssh_cluster_searches_and_leaves_nothing_behind(tmp_path):
    check_ssh(tmp_path, [CPU, CPU])


def test_hosts_that_cannot_be_used_are_told_in_one_line(tmp_path):
    with SSHServer(tmp_path) as server:
        words = ["127.0.0.1", "127.0.0.1", "--ssh-config", server.config]
        assert "failed to start" in refused("ssh.py", *words, "--python", "/no/such/python")
        rest = server.config.read_text()
        server.config.write_text(f"Host closed\n  Hostname 127.0.0.1\n  Port 1\n{rest}")
        options = [*words[2:], "--port", 0, "--dashboard", "127.0.0.1:0"]
        server.environment[MARK] = "one host of two"
        assert "Connect call failed" in refused("ssh.py", "127.0.0.1", "closed", *options)
        until(lambda: not marked("one host of two"), 10)
        (tmp_path / "known_hosts").write_text("")
        assert "Host key is not trusted" in refused("ssh.py", *words)


# SLURM


def batch_system(folder):
    """A folder with an sbatch that runs jobs here at once, and a scancel that ends them."""
    programs = folder / "bin"
    programs.mkdir()
    _executable(
        programs / "sbatch",
        f'cp "$1" {folder}/job-$$.sh\n'
        f"setsid bash {folder}/job-$$.sh >{folder}/job-$$.log 2>&1 </dev/null &\n"
        f"echo $! >>{folder}/submitted\n"
        "echo Submitted batch job $!",
    )
    _executable(programs / "scancel", f'echo "$1" >>{folder}/cancelled\nkill -- -"$1"')
    return {"PATH": f"{programs}:{BIN}:{os.environ['PATH']}"}


def _executable(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def job_script(*words):
    """What SLURM would be asked for, and the command of the job."""
    done = subprocess.run(
        Started.command("slurm.py", *words, "--print"), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("#!")
    asked = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]
    return asked, lines[-2], shlex.split(lines[-1])


def after(words, option):
    assert words.count(option) == 1
    return words[words.index(option) + 1]


def test_a_job_of_slurm_is_one_worker_with_all_its_cores():
    words = "--cores 32 --memory 120G --queue batch --account me --walltime 02:00:00"
    extra = ["--directive=--exclusive", "--setup", "module load python", "--python", "/opt/python"]
    asked, setup, command = job_script(*words.split(), *extra)
    assert asked == [
        *("-J daskbfs", "-p batch", "-A me", "-n 1", "--cpus-per-task=32", "--mem=120G"),
        *("-t 02:00:00", "--exclusive"),
    ]
    assert setup == "module load python"
    assert command[:3] == ["/opt/python", "-m", "distributed.cli.dask_worker"]
    assert (after(command, "--nthreads"), after(command, "--memory-limit")) == ("1", "0")
    assert "--nworkers" not in command


def test_a_job_of_slurm_with_gpus_is_left_to_dask_cuda():
    asked, _, command = job_script("--cores", 8, "--memory", "60G", "--gpus-per-node", 4)
    assert {"--cpus-per-task=8", "--mem=60G", "--gpus-per-node=4"} <= set(asked)
    assert command[1:5] == ["-m", "dask", "cuda", "worker"]
    assert (after(command, "--nthreads"), after(command, "--memory-limit")) == ("1", "0")
    assert after(command, "--resources") == "GPU=1"


def check_slurm(folder, n_jobs, devices, *options, environment=()):
    with Started(
        folder,
        ["slurm.py", *SMALL_JOB, "--jobs", n_jobs, *options],
        batch_system(folder) | dict(environment),
    ) as cluster:
        with connected(len(devices), cluster.address()) as client:
            searches(client, devices)
        submitted = (folder / "submitted").read_text().split()
        assert len(submitted) == n_jobs
        cluster.stop()
    assert sorted((folder / "cancelled").read_text().split()) == sorted(submitted)


def test_a_slurm_cluster_searches_and_cancels_its_jobs(tmp_path):
    check_slurm(tmp_path, 2, [CPU, CPU])


def test_jobs_that_slurm_does_not_take_are_told_in_one_line(tmp_path):
    environment = batch_system(tmp_path)
    _executable(tmp_path / "bin" / "sbatch", "echo 'sbatch: error: no such queue' >&2; exit 1")
    told = refused("slurm.py", *SMALL_JOB, environment=environment)
    assert told == "slurm.py: sbatch: error: no such queue\n"


# Kubernetes


def resources():
    return list(yaml.safe_load_all((CONFIGS / "kubernetes.yaml").read_text()))


def complaints(resource):
    """What is wrong with a resource, by the definitions that the operator installs."""
    charts = Path(dask_kubernetes.__file__).parent / "operator" / "deployment" / "helm"
    file = charts / "dask-kubernetes-operator" / "crds" / f"{resource['kind'].lower()}.yaml"
    definition = yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))["spec"]
    assert resource["kind"] == definition["names"]["kind"]
    version = {each["name"]: each for each in definition["versions"]}["v1"]
    assert resource["apiVersion"] == f"{definition['group']}/v1"
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}
    found = jsonschema.Draft202012Validator(_strict(schema)).iter_errors(resource)
    told = [f"{'.'.join(map(str, error.path))}: {error.message}" for error in found]
    for which, spec in _pod_specs(resource):
        try:
            same = _as_kubernetes_reads(spec, "V1PodSpec") == spec
        except ValueError as error:
            told.append(f"{which}: {error}")
        else:
            told += [] if same else [f"{which}: Kubernetes reads it differently"]
    return told


def _strict(schema):
    """A schema that allows nothing but what it names."""
    if isinstance(schema, dict):
        schema = {name: _strict(part) for name, part in schema.items()}
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
    elif isinstance(schema, list):
        schema = [_strict(part) for part in schema]
    return schema


def _pod_specs(resource):
    return [
        (role, resource["spec"][role]["spec"])
        for role in ("scheduler", "worker")
        if role in resource["spec"]
    ]


def _as_kubernetes_reads(spec, kind):
    """A part of a resource, there and back: what Kubernetes does not know is gone."""
    api = kubernetes.client.ApiClient()
    try:
        read = api._ApiClient__deserialize(spec, kind)
        return api.sanitize_for_serialization(read)
    finally:
        api.close()


def test_resources_for_kubernetes_fit_the_definitions_of_the_operator():
    cluster, gpus = resources()
    for resource in (cluster, gpus):
        assert complaints(resource) == []
    service = cluster["spec"]["scheduler"]["service"]
    assert _as_kubernetes_reads(service, "V1ServiceSpec") == service
    ports = {port["name"]: port["port"] for port in service["ports"]}
    assert ports == {"tcp-comm": 8786, "http-dashboard": 8787}
    assert service["selector"]["dask.org/cluster-name"] == cluster["metadata"]["name"]
    assert gpus["spec"]["cluster"] == cluster["metadata"]["name"]
    (container,) = gpus["spec"]["worker"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("spec.scheduler.spec.containers.0.readinessProbe", "Kubernetes reads it differently"),
        ("spec.scheduler.service.selector", "'selectorx' was unexpected"),
        ("spec.worker.replicas", "'replicasx' was unexpected"),
        ("spec.worker.spec.containers", "'containers' is a required property"),
        ("spec.worker.spec.containers.0.env.0.value", "'valuex' was unexpected"),
        ("spec.worker.spec.containers.0.resources.limits", "'limitsx' was unexpected"),
        ("spec.worker", "'worker' is a required property"),
    ],
)
def test_a_field_that_is_misspelt_is_noticed(path, told):
    resource = copy.deepcopy(resources()[0])
    *way, last = path.split(".")
    here = resource
    for step in way:
        here = here[int(step) if step.isdigit() else step]
    here[f"{last}x"] = here.pop(last)
    assert any(told in complaint for complaint in complaints(resource)), complaints(resource)


def containers():
    """The containers that the operator makes of our resources."""
    cluster, gpus = resources()
    name = cluster["metadata"]["name"]
    scheduler = operator.build_scheduler_deployment_spec(
        name, cluster["spec"]["scheduler"]["spec"], {}, {}
    )
    workers = [
        operator.build_worker_deployment_spec(group, "default", name, "1", part["spec"], {}, {})
        for group, part in (
            (f"{name}-default", cluster["spec"]["worker"]),
            (gpus["metadata"]["name"], gpus["spec"]["worker"]),
        )
    ]
    return [each["spec"]["template"]["spec"]["containers"][0] for each in (scheduler, *workers)]


def environment_of(container):
    """The environment of a container, as Kubernetes would fill it in."""
    found = {}
    for variable in container["env"]:
        if "valueFrom" in variable:
            _, resource = variable["valueFrom"]["resourceFieldRef"]["resource"].split(".")
            found[variable["name"]] = container["resources"]["limits"][resource]
        else:
            found[variable["name"]] = variable["value"]
    return found


def test_pods_install_what_there_is():
    about = metadata.metadata("daskbfs")
    needed = {each.name: each.specifier for each in map(Requirement, metadata.requires("daskbfs"))}
    for container in containers():
        ours, *pinned = map(Requirement, environment_of(container)["EXTRA_PIP_PACKAGES"].split())
        assert ours.name == "daskbfs"
        assert ours.extras <= set(about.get_all("Provides-Extra"))
        assert {each.name for each in pinned} == {"dask", "distributed"}
        for each in pinned:
            (only,) = each.specifier
            assert (only.operator, only.version in needed[each.name]) == ("==", True)


def test_what_pods_run_is_a_cluster_that_searches(tmp_path):
    scheduler, *workers = containers()
    file = tmp_path / "scheduler.json"
    here = ["--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file)]
    started = [_pod(tmp_path, [*scheduler["args"], *here], environment_of(scheduler))]
    try:
        with from_file(tmp_path, 0) as client:
            for worker in workers:
                told = environment_of(worker)
                assert told["DASK_SCHEDULER_ADDRESS"].endswith(".svc.cluster.local:8786")
                told["DASK_SCHEDULER_ADDRESS"] = client.scheduler.address
                told["DASK_DASKBFS__GPU__EMULATE"] = "true"
                started.append(_pod(tmp_path, worker["args"], told))
            client.wait_for_workers(2, timeout=60)
            named = {each["name"] for each in client.scheduler_info()["workers"].values()}
            assert named == {"daskbfs-default-worker-1", "daskbfs-gpu-worker-1"}
            threads = client.run(lambda: int(os.environ["NUMBA_NUM_THREADS"]))
            assert sorted(threads.values()) == [2, 8]
            searches(client, [CPU, EMULATED])
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)


def _pod(folder, args, environment):
    """What a container runs, here."""
    words = [re.sub(r"\$\((\w+)\)", lambda name: environment[name[1]], word) for word in args]
    return subprocess.Popen(
        [BIN / words[0], *words[1:]],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


# GPUs, which a stand-in for NVML invents, where there is dask-cuda (make test-oldest)

if importlib.util.find_spec("dask_cuda"):
    INVENTED = {
        "PYTHONPATH": os.pathsep.join([str(HERE / "standin"), str(ROOT)]),
        "INVENTED_GPUS": "2",
        "DASK_CUDA_TEST_SINGLE_GPU": "1",  # dask-cuda then leaves the devices' memory alone
        "DASK_DASKBFS__GPU__EMULATE": "true",
    }

    @pytest.mark.parametrize(
        ("words", "devices"),
        [
            (["multi_gpu.sh"], [EMULATED, EMULATED]),
            (["hybrid_node.sh"], [CPU, EMULATED, EMULATED]),
        ],
    )
    def test_clusters_with_invented_gpus_search_and_leave_nothing_behind(tmp_path, words, devices):
        with Started(tmp_path, words, INVENTED) as cluster:
            with from_file(tmp_path, len(devices)) as client:
                searches(client, devices)
            cluster.stop()

    def test_an_ssh_cluster_with_invented_gpus_searches(tmp_path):
        check_ssh(tmp_path, [EMULATED, EMULATED], "--gpus", environment=INVENTED)

    def test_a_slurm_cluster_with_invented_gpus_searches(tmp_path):
        options = ("--gpus-per-node", 2)
        check_slurm(tmp_path, 1, [EMULATED, EMULATED], *options, environment=INVENTED)

    @pytest.mark.parametrize("script", ["multi_gpu.sh", "hybrid_node.sh"])
    def test_gpus_that_are_not_there_end_the_cluster(script, tmp_path):
        with Started(tmp_path, [script], INVENTED | {"INVENTED_GPUS": "0"}) as cluster:
            assert cluster.process.wait(60) == 1
            assert f"{script}: the GPU workers have ended" in cluster.told()
            until(lambda: not cluster.processes(), 10)

else:

    @pytest.mark.parametrize("script", ["multi_gpu.sh", "hybrid_node.sh"])
    def test_gpu_workers_without_dask_cuda_are_told_in_one_line(script, tmp_path):
        assert "GPU workers need dask-cuda: pip install" in refused(script)
