import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** Runs Hadoop's own YARN daemons in one process, until standard input ends. The argument is the folder of its data. */
class MiniCluster {
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        System.setProperty("test.build.data", folder.toString());
        YarnConfiguration settings = new YarnConfiguration();
        settings.set("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100.0");
        settings.set("yarn.nodemanager.vmem-check-enabled", "false");
        settings.set("yarn.scheduler.capacity.root.queues", "default");
        settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
        settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1.0");
        settings.set("yarn.scheduler.minimum-allocation-mb", "256");
        settings.set("yarn.nodemanager.pmem-check-enabled", "false");
        MiniYARNCluster cluster = new MiniYARNCluster("yarn", 1, 1, 1);
        cluster.init(settings);
        cluster.start();
        if (!cluster.waitForNodeManagersToConnect(60_000)) {
            throw new IllegalStateException("the node manager did not register");
        }
        Path configuration = Files.createDirectories(folder.resolve("conf")).resolve("yarn-site.xml");
        try (OutputStream file = Files.newOutputStream(configuration)) {
            cluster.getConfig().writeXml(file);
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {}
        cluster.stop();
    }
}
